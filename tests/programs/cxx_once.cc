// std::call_once, also after an exception; who ran each must come back.
//@ flags: -pthread -std=c++17
//@ replay: 20 times, same stdout
//@ covers: pthread_once
#include "order.h"
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>
static std::once_flag flags[30];
static int ran_by[30], tries[30];
static std::mutex lock;
static void body(int id) {
    for (int i = 0; i < 30; i++) {
        jitter();
        for (bool done = false; !done;)
            try {
                std::call_once(flags[i], [&] {
                    if (tries[i]++ == 0 && i % 3 == 0) throw std::runtime_error("again");
                    ran_by[i] = id;
                });
                done = true;
            } catch (const std::runtime_error &) {
                std::lock_guard hold(lock);
                note(id);
            }
    }
}
int main() {
    std::vector<std::thread> threads;
    for (int id = 1; id <= 4; id++) threads.emplace_back(body, id);
    for (auto &thread : threads) thread.join();
    for (int i = 0; i < 30; i++) note(ran_by[i]);
    print_order();
}
