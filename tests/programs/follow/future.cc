// One thread waits for what another promises: libstdc++ waits in a futex that Retake does not see.
//@ flags: -std=c++20 -O1
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>

static std::mutex mutex;

int main() {
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread thread([&] {
        mutex.lock();
        mutex.unlock();
        promise.set_value(7);
        mutex.lock();
        mutex.unlock();
    });
    int value = future.get();
    mutex.lock();
    std::printf("%d\n", value);
    mutex.unlock();
    thread.join();
}
