// C++: two threads of rank 0 take what it receives from anyone off a queue. Who took what, and from whom it came, comes back.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mpi.h>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include <unistd.h>

int main(int argc, char **argv) {
    int provided, me, ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (me > 0) {
        for (int i = 0; i < 20; i++) {
            usleep((me * 7919 + i * 104729) % 300);
            MPI_Send(&i, 1, MPI_INT, 0, me, MPI_COMM_WORLD);
        }
        MPI_Finalize();
        return 0;
    }
    std::deque<int> queue;
    std::mutex lock;
    std::condition_variable more;
    std::string told;
    auto take = [&](char who) {
        for (;;) {
            std::unique_lock held(lock);
            more.wait(held, [&] { return !queue.empty(); });
            int source = queue.front();
            if (source < 0) return;
            queue.pop_front();
            told += who + std::to_string(source) + ' ';
        }
    };
    std::vector<std::thread> threads;
    for (char who : {'a', 'b'}) threads.emplace_back(take, who);
    for (int i = 0; i < (ranks - 1) * 20; i++) {
        int value;
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        std::lock_guard held(lock);
        queue.push_back(status.MPI_SOURCE);
        more.notify_one();
    }
    {
        std::lock_guard held(lock);
        queue.push_back(-1);
        more.notify_all();
    }
    for (auto &thread : threads) thread.join();
    std::printf("%s\n", told.c_str());
    MPI_Finalize();
    return 0;
}
