// std::shared_mutex and shared_timed_mutex; the writers' order and what readers saw must come back.
//@ flags: -pthread -std=c++17
//@ replay: 20 times, same stdout
//@ covers: pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_tryrdlock pthread_rwlock_trywrlock pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock pthread_rwlock_unlock
#include "order.h"
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>
using namespace std::chrono_literals;
static std::shared_mutex lock;
static std::shared_timed_mutex timed;
static unsigned seen[5], hash;
static void body(int id) {
    for (int i = 0; i < 40; i++) {
        jitter();
        if (i % 3 == 0) {
            std::unique_lock hold(lock, std::defer_lock);
            if (i % 2 || !hold.try_lock()) hold.lock();
            note(id);
        } else {
            std::shared_lock hold(lock, std::try_to_lock);
            seen[id] = seen[id] * 31 + hold.owns_lock();
            if (hold) seen[id] += (unsigned)order_len;
        }
        if (i % 3 == 1) {
            std::unique_lock hold(timed, 20us);
            if (hold) hash = hash * 31 + (unsigned)id, jitter();
        } else {
            std::shared_lock hold(timed, 20us);
            seen[id] = seen[id] * 31 + (hold ? hash : 1);
        }
    }
}
int main() {
    std::vector<std::thread> threads;
    for (int id = 1; id <= 4; id++) threads.emplace_back(body, id);
    for (auto &thread : threads) thread.join();
    for (int id = 1; id <= 4; id++) std::printf("%08x ", seen[id]);
    std::printf("%08x ", hash);
    print_order();
}
