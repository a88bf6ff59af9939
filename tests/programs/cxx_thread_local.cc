// Destructors of thread-local variables lock and log after the thread's function has ended; their order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: __cxa_thread_atexit_impl pthread_create pthread_join
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex lock;
static std::vector<int> order;
struct Logs {
    int id = 0;
    ~Logs() {
        std::lock_guard<std::mutex> guard(lock);
        order.push_back(id + 100);
    }
};
static thread_local Logs logs;

int main() {
    std::vector<std::thread> all;
    for (int id = 1; id <= 6; id++)
        all.emplace_back([id] {
            logs.id = id;
            for (int i = 0; i < 20; i++) {
                std::lock_guard<std::mutex> guard(lock);
                order.push_back(id);
            }
        });
    for (auto &thread : all) thread.join();
    for (int id : order) std::printf("%d ", id);
    std::printf("\n");
}
