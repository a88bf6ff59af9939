// std::mutex, recursive_mutex and heap mutexes that no call makes or ends; the order must come back.
//@ flags: -pthread -std=c++17
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_create pthread_join
#include "order.h"
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
struct Node { std::mutex lock; unsigned hash = 0; };
static std::mutex plain;
static std::recursive_mutex deep;
static std::shared_ptr<Node> current = std::make_shared<Node>();
static unsigned outcomes[5];
static void body(int id) {
    for (int i = 0; i < 60; i++) {
        jitter();
        std::shared_ptr<Node> node;
        {
            std::scoped_lock both(plain, deep);
            std::lock_guard<std::recursive_mutex> again(deep);
            note(id);
            if (i % 5 == 0) current = std::make_shared<Node>(); // often where an old one lay
            node = current;
        }
        if (i % 2) jitter();
        std::unique_lock<std::mutex> hold(node->lock, std::defer_lock);
        bool got = hold.try_lock();
        outcomes[id] = outcomes[id] * 31 + got;
        if (!got) hold.lock();
        node->hash = node->hash * 31 + (unsigned)id;
        outcomes[id] = outcomes[id] * 31 + node->hash;
    }
}
int main() {
    std::vector<std::thread> threads;
    for (int id = 1; id <= 4; id++) threads.emplace_back(body, id);
    for (auto &thread : threads) thread.join();
    for (int id = 1; id <= 4; id++) std::printf("%08x ", outcomes[id]);
    print_order();
}
