// The making of a static variable comes to itself again, in a program that has had another thread: it waits for ever.
//@ flags: -pthread -g -std=c++17
//@ replay: 10 times
//@ ends: 122
#include <thread>
static int depth;
static int value() {
    static int made = depth++ == 0 ? value() : 7;
    return made;
}
int main() {
    std::thread other([] {});
    other.join();
    return value();
}
