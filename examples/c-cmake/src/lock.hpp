#pragma once

#include <atomic>

/// A lock that waits in a loop.
class SpinLock {
public:
    void lock();
    void unlock();

private:
    std::atomic<bool> taken{false};
};
