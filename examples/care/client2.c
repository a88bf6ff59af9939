// A client of two threads that share an object: one sends to the server and calls the other, who changes the object
// before it replies.
#include "retake.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int number = 9;
static retake_object *object;

static void stop(const char *what) {
    fprintf(stderr, "client2: %s: %s\n", what, retake_last_error());
    exit(1);
}

static void set(retake_participant *me, int value) {
    if (retake_write_entry(me, object) < 0) stop("write_entry");
    number = value;
    if (retake_write_exit(me, object) < 0) stop("write_exit");
}

static int get(retake_participant *me) {
    if (retake_read_entry(me, object) < 0) stop("read_entry");
    int value = number;
    if (retake_read_exit(me, object) < 0) stop("read_exit");
    return value;
}

static void *first(void *unused) {
    (void)unused;
    retake_participant *me = retake_init("client2a");
    if (!me) stop("init");
    int64_t other = retake_find_partner(me, "client2b", -1), server = retake_find_partner(me, "server", -1);
    if (other < 0 || server < 0) stop("find_partner");
    for (int i = 1; i <= 10; i++) {
        char text[100];
        int length = snprintf(text, sizeof text, "This is client2a message %d", i);
        if (i % 2) {
            if (retake_send(me, server, text, length) < 0) stop("send");
            continue;
        }
        set(me, i);
        printf("client2a: number before the call: %d\n", get(me));
        retake_message reply;
        if (retake_call(me, other, text, length, -1, &reply) != 1) stop("call");
        printf("client2a: reply: %s\n", (const char *)reply.contents);
        retake_message_free(&reply);
        printf("client2a: number after the call: %d\n", get(me));
    }
    retake_finish(me);
    return NULL;
}

static void *second(void *unused) {
    (void)unused;
    retake_participant *me = retake_init("client2b");
    if (!me) stop("init");
    retake_message message;
    for (int i = 50; i < 55; i++) {
        if (retake_receive(me, -1, &message) != 1) stop("receive");
        printf("client2b: from %s: %s\n", message.name, (const char *)message.contents);
        set(me, i);
        char reply[200];
        int length = snprintf(reply, sizeof reply, "client2b's reply to message %llu", (unsigned long long)message.id);
        if (retake_reply(me, message.partner, message.id, reply, length) < 0) stop("reply");
        retake_message_free(&message);
    }
    // Nobody sends any more: this runs out of time.
    printf("client2b: %s\n", retake_receive(me, 100, &message) ? "one more message" : "no more messages");
    retake_finish(me);
    return NULL;
}

int main(void) {
    object = retake_object_init("Number", &number, sizeof number);
    if (!object) stop("object_init");
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    retake_object_free(object);
    return 0;
}
