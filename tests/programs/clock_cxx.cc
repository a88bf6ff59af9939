// std::chrono's clocks must come back, and how often a loop until a deadline went round.
//@ flags: -pthread -std=c++17
//@ replay: 20 times, same stdout
//@ covers: clock_gettime nanosleep
#include <chrono>
#include <cstdio>
#include <thread>
using namespace std::chrono;
int main() {
    auto end = steady_clock::now() + 2ms;
    int rounds = 0;
    while (steady_clock::now() < end) rounds++;
    std::printf("%d rounds\n", rounds);
    for (int i = 0; i < 10; i++) {
        std::this_thread::sleep_for(50us);
        std::this_thread::sleep_until(steady_clock::now() + 50us);
        std::printf("%lld %lld\n", (long long)steady_clock::now().time_since_epoch().count(),
                    (long long)system_clock::now().time_since_epoch().count());
    }
}
