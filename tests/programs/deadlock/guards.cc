// Guards of every kind, not inlined: what is told are the lines that make them, and who called.
//@ flags: -pthread -g -O0 -std=c++17
//@ replay: 10 times
//@ ends: 122
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <thread>
static std::mutex accounts, journal, extra;
static std::shared_mutex cache;
static pthread_barrier_t all;
static void transfer() {
    std::lock_guard<std::mutex> one(accounts);
    pthread_barrier_wait(&all);
    std::unique_lock<std::mutex> two(journal);
}
static void audit() {
    std::scoped_lock both(journal, extra);
    pthread_barrier_wait(&all);
    std::unique_lock<std::shared_mutex> write(cache);
}
static void look_up() {
    std::shared_lock<std::shared_mutex> read(cache);
    pthread_barrier_wait(&all);
    std::scoped_lock one(accounts);
}
int main() {
    pthread_barrier_init(&all, nullptr, 3);
    std::thread first([] { transfer(); }), second([] { audit(); }), third([] { look_up(); });
    first.join();
    second.join();
    third.join();
}
