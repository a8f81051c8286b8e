// verified
#include <cassert>
#include <future>
int main()
{
    auto result = std::async(std::launch::async, [] { return 42; });
    std::promise<int> promise;
    auto other = promise.get_future();
    std::thread thread([&] { promise.set_value(1); });
    assert(result.get() + other.get() == 43);
    thread.join();
}
