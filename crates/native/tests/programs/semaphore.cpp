// verified
#include <cassert>
#include <semaphore>
#include <thread>
static std::binary_semaphore semaphore(1);
static int value;
int main()
{
    std::thread thread([] {
        semaphore.acquire();
        value++;
        semaphore.release();
    });
    semaphore.acquire();
    value++;
    semaphore.release();
    thread.join();
    assert(value == 2);
}
