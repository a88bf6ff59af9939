// Three mistakes with a shared object, which RETAKE_CHECK finds: a change without a guard, a change while it is read, and a
// guard that is never released.
#include "retake.h"
#include <stdio.h>
#include <string.h>

static long number = 1;

int main(int argc, char **argv) {
    retake_participant *me = retake_init("guards");
    retake_object *object = me ? retake_object_init("Number", &number, sizeof number) : NULL;
    if (!object || argc < 2) return 1;
    retake_write_entry(me, object);
    number = 2;
    retake_write_exit(me, object);
    if (!strcmp(argv[1], "outside")) number = 3;
    retake_read_entry(me, object);
    if (!strcmp(argv[1], "reading")) number = 4;
    if (strcmp(argv[1], "held")) retake_read_exit(me, object);
    retake_finish(me);
    printf("%ld\n", number);
    return 0;
}
