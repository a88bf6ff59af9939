// Who gets a semaphore, comes to a latch or is woken by an atomic of C++20 first must come back.
//@ flags: -O1 -std=c++20 -pthread
//@ replay: 20 times, same stdout
//@ covers: syscall
#include "../order.h"
#include <atomic>
#include <latch>
#include <semaphore>
#include <thread>
#include <vector>
static std::counting_semaphore<2> free_seats(2);
static std::atomic<int> turn, last;
static std::latch all_here(4);
int main() {
    std::vector<std::thread> threads;
    for (int id = 0; id < 4; id++)
        threads.emplace_back([id] {
            all_here.arrive_and_wait();
            for (int i = 0; i < 50; i++) {
                free_seats.acquire();
                int now = turn.fetch_add(1);
                if (now < ORDER_MAX) order_log[now] = id;
                jitter();
                if (i % 8 == id) std::this_thread::sleep_for(std::chrono::microseconds(20));
                free_seats.release();
                if (i % 10 == 9) {
                    last = id + 1;
                    last.notify_all();
                }
            }
        });
    last.wait(0);
    int first = last;
    for (auto &thread : threads) thread.join();
    order_len = turn;
    print_order();
    printf("woken by %d\n", first);
}
