// std::async, futures, promises and packaged tasks; the order inside the tasks must come back.
//@ flags: -pthread -std=c++17
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_join pthread_once pthread_mutex_lock
#include "order.h"
#include <future>
#include <mutex>
#include <thread>
#include <vector>
static std::mutex lock;
static int work(int id) {
    for (int i = 0; i < 15; i++) {
        jitter();
        std::lock_guard<std::mutex> hold(lock);
        note(id);
    }
    std::lock_guard<std::mutex> hold(lock);
    return order_len;
}
int main() {
    std::vector<std::future<int>> results;
    for (int id = 1; id <= 4; id++) results.push_back(std::async(std::launch::async, work, id));
    results.push_back(std::async(std::launch::deferred, work, 5));
    std::packaged_task<int(int)> task(work);
    results.push_back(task.get_future());
    std::thread six(std::move(task), 6);
    std::promise<int> promise;
    std::shared_future<int> shared = promise.get_future().share();
    std::thread seven([shared] { work(shared.get()); });
    jitter();
    promise.set_value(7);
    for (auto &result : results) std::printf("%d ", result.get());
    six.join();
    seven.join();
    print_order();
}
