// Threads print to std::cout without any lock of their own; the order in standard output must come back.
//@ flags: -pthread -std=c++17
//@ replay: 20 times, same stdout
//@ covers: fwrite fflush pthread_create pthread_join
#include "order.h"
#include <iostream>
#include <thread>
#include <vector>
int main() {
    std::vector<std::thread> threads;
    for (int id = 1; id <= 4; id++)
        threads.emplace_back([id] {
            for (int i = 0; i < 30; i++) {
                jitter();
                std::cout << id << ' ' << i << (i % 5 ? "; " : "\n");
                if (i % 10 == 0) std::cout << std::flush;
            }
        });
    for (auto &thread : threads) thread.join();
    std::cout << std::endl;
}
