// Two static variables, each of whose making wants the other. Nobody but those who make them is left to see the end.
//@ flags: -pthread -g -std=c++17
//@ replay: 10 times
//@ ends: 122
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
    left();
}
static void other() { right(); }
int main() {
    pthread_barrier_init(&both, nullptr, 2);
    std::thread thread(other);
    left();
    thread.join();
}
