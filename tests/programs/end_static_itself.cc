// The making of a static variable comes to itself again, in a program of one thread. The C++ library throws then, which
// the compiler does not expect there: the program is terminated, and must be in every replay.
//@ flags: -pthread -std=c++17
//@ replay: 20 times, same stdout
//@ covers: __cxa_guard_acquire
//@ ends: 3
#include <cstdio>
#include <exception>
#include <unistd.h>
static int depth;
static int value() {
    static int made = depth++ == 0 ? value() : 7;
    return made;
}
int main() {
    std::set_terminate([] {
        std::printf("itself\n");
        std::fflush(stdout);
        _exit(3);
    });
    return value();
}
