// A bank transfer seen half-way: money has left one account and has not come to the other when somebody counts it.
// Decides: the auditor's two locks come between the two of the transfer.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,1,1,1,2,2,2,2,2
//@ replay: 3 times
#include "explore.h"
#include <mutex>
#include <thread>

namespace {
struct Account {
    std::mutex lock;
    int money;
    explicit Account(int money) : money(money) {}
    void add(int amount) {
        std::lock_guard<std::mutex> held(lock);
        money += amount;
    }
    int look() {
        std::lock_guard<std::mutex> held(lock);
        return money;
    }
};

Account alice(100), bob(0);
std::mutex bank;

void transfer() {
#ifdef REPAIRED
    std::lock_guard<std::mutex> whole(bank);
#endif
    alice.add(-70);
    bob.add(70);
}

void audit() {
    LATER();
#ifdef REPAIRED
    std::lock_guard<std::mutex> whole(bank);
#endif
    int total = alice.look() + bob.look();
    assert(total == 100);
    (void)total;
}
} // namespace

int main() {
    std::thread a(transfer), b(audit);
    a.join();
    b.join();
}
