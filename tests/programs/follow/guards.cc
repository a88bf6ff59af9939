// Two threads take two mutexes in different orders, by guards that are not inlined.
//@ flags: -std=c++17 -O0
#include <mutex>
#include <thread>

static std::mutex left, right;

static void forwards() {
    std::lock_guard<std::mutex> one(left);
    std::lock_guard<std::mutex> two(right);
}

static void backwards() {
    std::unique_lock<std::mutex> one(right);
    std::unique_lock<std::mutex> two(left);
}

int main() {
    std::thread first(forwards), second(backwards);
    first.join();
    second.join();
}
