// verified
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <thread>
static int made, tries, destroyed;
struct Thing {
    int value;
    Thing() : value(7) { made++; }
};
static Thing &instance()
{
    static Thing thing;
    return thing;
}
struct Local {
    ~Local() { destroyed++; }
};
static thread_local Local local;
static std::once_flag once;
static void attempt()
{
    try {
        std::call_once(once, [] {
            if (tries++ == 0)
                throw std::runtime_error("the first try fails");
        });
    } catch (const std::runtime_error &) {
    }
}
int main()
{
    std::thread thread([] {
        assert(instance().value == 7);
        (void)&local;
        attempt();
    });
    assert(instance().value == 7);
    attempt();
    thread.join();
    assert(made == 1 && tries == 2 && destroyed == 1);
}
