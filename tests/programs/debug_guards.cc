// C++'s guards, not inlined: a stop in one of them must show the line that uses it, not those of the library's headers.
//@ flags: -pthread -std=c++17 -O0
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_lock pthread_mutex_unlock sem_wait sem_post
#include <cstdio>
#include <mutex>
#include <semaphore.h>
#include <thread>

static std::mutex account;
static sem_t paid;
static int balance = 100;

static void give() {
    std::unique_lock<std::mutex> hold(account);
    balance += 10;
    hold.unlock();
    sem_post(&paid);
}

static void take() {
    sem_wait(&paid);
    std::lock_guard<std::mutex> hold(account);
    balance /= 2;
}

int main() {
    sem_init(&paid, 0, 0);
    std::thread one(give), two(take);
    one.join();
    two.join();
    std::printf("balance %d\n", balance);
}
