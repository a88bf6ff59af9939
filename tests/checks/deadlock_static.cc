// Two static variables, each of whose making wants the other. Repaired: one of them does not.
//@ flags: -pthread -std=c++17
//@ ends: 137
#include "watchdog.h"
#include <pthread.h>
#include <thread>

static pthread_barrier_t both;
struct Left {
    Left();
};
struct Right {
    Right();
};
static Left &left() {
    static Left it;
    return it;
}
static Right &right() {
    static Right it;
    return it;
}
Left::Left() {
    pthread_barrier_wait(&both);
    right();
}
Right::Right() {
    pthread_barrier_wait(&both);
#ifndef REPAIRED
    left();
#endif
}
static void other() { right(); }

int main() {
    killed_soon();
    pthread_barrier_init(&both, nullptr, 2);
    std::thread thread(other);
    left();
    thread.join();
}
