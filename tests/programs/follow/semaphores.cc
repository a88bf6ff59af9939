// Two threads by turns, by C++20's semaphores: neither is seen, both wait in futexes.
//@ flags: -std=c++20 -O1
#include <cstdio>
#include <semaphore>
#include <thread>

static std::binary_semaphore ping(0), pong(0);

int main() {
    std::thread thread([] {
        for (int i = 0; i < 3; i++) {
            ping.acquire();
            std::puts("pong");
            pong.release();
        }
    });
    for (int i = 0; i < 3; i++) {
        std::puts("ping");
        ping.release();
        pong.acquire();
    }
    thread.join();
}
