// A server and its clients on one machine, both recorded: what they say to each other one by one, and the order, return.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: connect accept accept4
#include "order.h"
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sockaddr_in address = {.sin_family = AF_INET};
static int server;
static void say(int id) {
    jitter();
    pthread_mutex_lock(&lock);
    note(id);
    pthread_mutex_unlock(&lock);
}
static void *serve(void *unused) {
    for (int i = 0; i < 10; i++) {
        char byte = 0;
        int peer = i % 2 ? accept(server, NULL, NULL) : accept4(server, NULL, NULL, SOCK_CLOEXEC);
        if (read(peer, &byte, 1) != 1) return unused;
        say(byte + 10);
        if (write(peer, &byte, 1) != 1) return unused;
        close(peer);
    }
    return NULL;
}
static void *chatter(void *unused) {
    for (int i = 0; i < 40; i++) say(1);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server, (struct sockaddr *)&address, length) || listen(server, 5)) return 1;
    getsockname(server, (struct sockaddr *)&address, &length);
    pthread_create(&threads[0], NULL, serve, NULL);
    pthread_create(&threads[1], NULL, chatter, NULL);
    for (int i = 0; i < 10; i++) {
        char byte = (char)i, answer = 0;
        int client = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(client, (struct sockaddr *)&address, length) || write(client, &byte, 1) != 1) return 2;
        say(0);
        if (read(client, &answer, 1) != 1 || answer != byte) return 3;
        close(client);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    print_order();
    return 0;
}
