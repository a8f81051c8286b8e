// verified
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
using namespace std::chrono_literals;
static std::timed_mutex timed;
static std::mutex mutex;
static std::condition_variable_any changed;
static bool is_set;
int main()
{
    std::thread thread([] {
        if (timed.try_lock_for(2ms)) {
            timed.unlock();
        }
        std::unique_lock lock(mutex);
        changed.wait_for(lock, 2ms, [] { return is_set; });
    });
    timed.lock();
    timed.unlock();
    {
        std::lock_guard lock(mutex);
        is_set = true;
    }
    changed.notify_all();
    thread.join();
}
