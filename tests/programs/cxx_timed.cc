// std::timed_mutex and condition_variable::wait_for; what was too late, and the order, must come back.
//@ flags: -pthread -std=c++17
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_clocklock pthread_mutex_timedlock pthread_cond_clockwait pthread_cond_timedwait pthread_cond_signal
#include "order.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>
using namespace std::chrono_literals;
static std::timed_mutex timed;
static std::mutex lock;
static std::condition_variable more;
static unsigned outcomes[5];
static int items;
static void body(int id) {
    for (int i = 0; i < 30; i++) {
        bool got = i % 2 ? timed.try_lock_for(20us) : timed.try_lock_until(std::chrono::system_clock::now() + 20us);
        outcomes[id] = outcomes[id] * 31 + got;
        if (got) {
            jitter(), jitter();
            timed.unlock();
        }
        std::unique_lock<std::mutex> hold(lock);
        if (id % 2) items++, note(id), more.notify_one();
        else if (more.wait_for(hold, 50us, [] { return items > 0; })) items--, note(id);
        else note(id + 10);
        if (i % 4 == 0) outcomes[id] += more.wait_until(hold, std::chrono::system_clock::now() + 20us) == std::cv_status::timeout;
    }
}
int main() {
    std::vector<std::thread> threads;
    for (int id = 1; id <= 4; id++) threads.emplace_back(body, id);
    for (auto &thread : threads) thread.join();
    for (int id = 1; id <= 4; id++) std::printf("%08x ", outcomes[id]);
    print_order();
}
