// Two threads count to two, with a lock.

#include <cassert>
#include <thread>

#include "lock.hpp"

int main() {
    SpinLock lock;
    int count = 0;
    auto increment = [&] {
        lock.lock();
        ++count;
        lock.unlock();
    };
    std::thread other(increment);
    increment();
    other.join();
    assert(count == 2);
}
