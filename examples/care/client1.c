// A client that sends and calls in turn: examples/care/client1.rs in C.
#include "retake.h"
#include <stdio.h>
#include <stdlib.h>

static void stop(const char *what) {
    fprintf(stderr, "client1: %s: %s\n", what, retake_last_error());
    exit(1);
}

int main(void) {
    retake_participant *me = retake_init("client1");
    if (!me) stop("init");
    int64_t server = retake_find_partner(me, "server", -1);
    if (server < 0) stop("find_partner");
    for (int i = 1; i <= 10; i++) {
        char text[100];
        int length = snprintf(text, sizeof text, "This is client1 message %d", i);
        if (i % 2) {
            if (retake_send(me, server, text, length) < 0) stop("send");
        } else {
            retake_message reply;
            if (retake_call(me, server, text, length, -1, &reply) != 1) stop("call");
            printf("client1: reply: %s\n", (const char *)reply.contents);
            retake_message_free(&reply);
        }
    }
    retake_finish(me);
    return 0;
}
