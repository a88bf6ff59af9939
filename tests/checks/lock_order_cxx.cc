// Two C++ objects lock each other's mutexes one by one, on the heap. Repaired: std::scoped_lock takes both at once.
//@ flags: -std=c++17 -pthread
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

struct Account {
    std::mutex lock;
    int money = 0;
};

static void transfer(Account &from, Account &to) {
#ifdef REPAIRED
    std::scoped_lock both(from.lock, to.lock);
#else
    from.lock.lock();
    to.lock.lock();
    to.lock.unlock();
    from.lock.unlock();
#endif
}

int main() {
    auto one = std::make_unique<Account>(), two = std::make_unique<Account>();
    std::thread there([&] { transfer(*one, *two); });
    std::thread back([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        transfer(*two, *one);
    });
    there.join();
    back.join();
}
