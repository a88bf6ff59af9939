// Statics of functions that several threads reach at once; which thread made each must come back.
//@ flags: -pthread -std=c++17
//@ replay: 20 times, same stdout
//@ covers: __cxa_guard_acquire __cxa_guard_release __cxa_guard_abort
#include "order.h"
#include <thread>
#include <utility>
#include <vector>
template <int N> int first_user(int id) {
    static int tries;
    static const int winner = [id] {
        jitter();
        if (tries++ == 0 && N % 4 == 0) throw id; // the next one tries again
        return id;
    }();
    return winner;
}
static int winners[5][16], thrown[5];
template <int... N> void all(int id, std::integer_sequence<int, N...>) {
    auto one = [id](int n, auto get) {
        for (jitter();;)
            try {
                winners[id][n] = get(id);
                return;
            } catch (int) {
                thrown[id]++;
            }
    };
    (one(N, first_user<N>), ...);
}
int main() {
    std::vector<std::thread> threads;
    for (int id = 1; id <= 4; id++) threads.emplace_back([id] { all(id, std::make_integer_sequence<int, 16>()); });
    for (auto &thread : threads) thread.join();
    for (int id = 1; id <= 4; id++) {
        note(thrown[id]);
        for (int n = 0; n < 16; n++) note(winners[id][n]);
    }
    print_order();
}
