// The server: prints every message in the order in which it comes, and replies to calls. It ends after 15 messages.
#include "retake.h"
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    retake_participant *me = retake_init("server");
    if (!me) {
        fprintf(stderr, "server: %s\n", retake_last_error());
        return 1;
    }
    for (int i = 0; i < 15; i++) {
        retake_message message;
        if (retake_receive(me, -1, &message) != 1) {
            fprintf(stderr, "server: receive: %s\n", retake_last_error());
            return 1;
        }
        printf("server: from %s, id %llu: %s\n", message.name, (unsigned long long)message.id,
               (const char *)message.contents);
        if (message.expects_reply) {
            char reply[200];
            int length = snprintf(reply, sizeof reply, "reply to message %llu from %s on host %s",
                                  (unsigned long long)message.id, message.name, message.host);
            retake_reply(me, message.partner, message.id, reply, length);
        }
        retake_message_free(&message);
    }
    retake_finish(me);
    return 0;
}
