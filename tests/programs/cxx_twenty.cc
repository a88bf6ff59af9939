// jthread, latch, barrier and counting_semaphore in their blocking forms; the order under a mutex must come back.
//@ flags: -pthread -std=c++20
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_join pthread_mutex_lock
#include "order.h"
#include <barrier>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <vector>
static std::mutex lock;
static std::latch start(4);
static std::barrier<> step(4);
static std::counting_semaphore<8> seats[5]{std::counting_semaphore<8>(0), std::counting_semaphore<8>(0), std::counting_semaphore<8>(0),
                                           std::counting_semaphore<8>(0), std::counting_semaphore<8>(1)};
static std::condition_variable_any woken;
static bool waits;
static void say(int id) {
    std::lock_guard<std::mutex> hold(lock);
    note(id);
}
static void body(int id) {
    start.arrive_and_wait();
    for (int i = 0; i < 10; i++) {
        jitter();
        seats[id].acquire(); // handed on from one to the next
        say(id);
        seats[id % 4 + 1].release();
        step.arrive_and_wait();
        say(id + 10);
    }
}
int main() {
    {
        std::jthread waiter([](std::stop_token stop) {
            std::unique_lock<std::mutex> hold(lock);
            waits = true;
            woken.wait(hold, stop, [] { return false; });
            note(30);
        });
        std::vector<std::jthread> threads;
        for (int id = 1; id <= 4; id++) threads.emplace_back(body, id);
        for (auto &thread : threads) thread.join();
        for (bool there = false; !there; sched_yield()) { // whether it is told to stop before it waits, only atomics would decide
            std::lock_guard<std::mutex> hold(lock);
            there = waits;
        }
        waiter.request_stop();
    }
    print_order();
}
