// verified
#include <cassert>
#include <latch>
#include <thread>
static std::latch latch(1);
static int value;
int main()
{
    std::thread thread([] {
        value = 1;
        latch.count_down();
    });
    latch.wait();
    assert(value == 1);
    thread.join();
}
