#include "lock.hpp"

void SpinLock::lock() {
    while (taken.exchange(true, std::memory_order_acquire)) {
    }
}

void SpinLock::unlock() { taken.store(false, std::memory_order_release); }
