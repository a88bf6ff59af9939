// Check, then act: two threads find a key missing in a map, each call under the lock, and both make its value.
// Decides: both `contains` come before both `insert`.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,1,1,1,2,2,2,2,2,2,1,1
//@ replay: 3 times
#include "explore.h"
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace {
class Cache {
    std::mutex lock;
    std::map<std::string, int> values;

  public:
    bool contains(const std::string &key) {
        std::lock_guard<std::mutex> held(lock);
        return values.count(key) > 0;
    }
    bool insert(const std::string &key, int value) {
        std::lock_guard<std::mutex> held(lock);
        return values.emplace(key, value).second;
    }
};

Cache cache;

void use(bool late) {
    if (late) LATER();
#ifdef REPAIRED
    cache.insert("key", 1);
#else
    if (!cache.contains("key")) {
        bool is_new = cache.insert("key", 1);
        assert(is_new);
        (void)is_new;
    }
#endif
}
} // namespace

int main() {
    std::thread a(use, false), b(use, true);
    a.join();
    b.join();
}
