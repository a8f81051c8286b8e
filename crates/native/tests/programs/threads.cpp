// verified
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>
static std::mutex mutex;
static std::shared_mutex shared;
static std::condition_variable filled;
static int items, value;
int main()
{
    std::thread consumer([] {
        std::unique_lock lock(mutex);
        filled.wait(lock, [] { return items > 0; });
        items--;
    });
    std::thread reader([] {
        std::shared_lock lock(shared);
        assert(value == 0 || value == 1);
    });
    {
        std::lock_guard lock(mutex);
        items++;
    }
    filled.notify_one();
    {
        std::unique_lock lock(shared);
        value = 1;
    }
    consumer.join();
    reader.join();
    assert(items == 0);
}
