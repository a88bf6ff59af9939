// C++ threads that run a lambda and a member function lose an update: both are told by what the program calls them.
//@ flags: -pthread -g
#include <mutex>
#include <thread>

namespace {
std::mutex lock;
int total;

int look() {
    std::lock_guard<std::mutex> held(lock);
    return total;
}

void set(int value) {
    std::lock_guard<std::mutex> held(lock);
    total = value;
}

struct Counter {
    void count(int by) { set(look() + by); }
};
} // namespace

int main() {
    Counter counter;
    std::thread one([&] { counter.count(1); }), other(&Counter::count, &counter, 1);
    one.join();
    other.join();
    return total == 2 ? 0 : 3;
}
