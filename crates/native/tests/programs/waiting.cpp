// verified
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<int> flag;
static int value;
int main()
{
    std::thread thread([] {
        flag.wait(0);
        assert(value == 1);
    });
    value = 1;
    flag = 1;
    flag.notify_one();
    thread.join();
}
