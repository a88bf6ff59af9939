// A static variable's making wants a mutex whose holder waits for the variable.
//@ flags: -pthread -g -std=c++17
//@ replay: 10 times
//@ ends: 122
#include <mutex>
#include <pthread.h>
#include <thread>
static std::mutex table;
static pthread_barrier_t both;
struct Settings {
    Settings() {
        pthread_barrier_wait(&both);
        std::lock_guard<std::mutex> guard(table);
    }
};
static Settings &settings() {
    static Settings all;
    return all;
}
static void first() { settings(); }
static void second() {
    std::lock_guard<std::mutex> guard(table);
    pthread_barrier_wait(&both);
    settings();
}
int main() {
    pthread_barrier_init(&both, nullptr, 2);
    std::thread one(first), two(second);
    one.join();
    two.join();
}
