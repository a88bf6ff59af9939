// Two static variables wait for each other, and another process kills the program. Each replay must come to that end, though
// nobody is left in it who does not wait for a variable.
//@ flags: -pthread -std=c++17
//@ replay: 20 times, same stdout
//@ covers: __cxa_guard_acquire
//@ ends: 143
#include "apart.h"
#include <pthread.h>
#include <signal.h>
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
    left();
}
int main() {
    if (fork() == 0) {
        until_it_hangs((int)syscall(SYS_getppid));
        kill(getppid(), SIGTERM);
        _exit(0);
    }
    pthread_barrier_init(&both, nullptr, 2);
    std::thread thread([] { right(); });
    left();
    return 1;
}
