// verified
#include <cassert>
#include <semaphore>
#include <thread>
static std::binary_semaphore filled(0);
static int value;
int main()
{
    std::thread thread([] {
        value = 1;
        filled.release();
    });
    filled.acquire();
    assert(value == 1);
    thread.join();
}
