// The lock-free queue of Cameron Desrochers (Debian: libconcurrentqueue-dev), used as a program uses it. What each producer puts in
// comes out once, and in its order.
//
// The arguments are how many producers there are, and how many values each puts in.

#include <cassert>
#include <concurrentqueue/concurrentqueue.h>
#include <cstdlib>
#include <thread>
#include <vector>

// Blocks and tables so small that a few values fill them.
struct Small : moodycamel::ConcurrentQueueDefaultTraits {
    static constexpr std::size_t BLOCK_SIZE = 2;
    static constexpr std::size_t EXPLICIT_INITIAL_INDEX_SIZE = 2;
    static constexpr std::size_t IMPLICIT_INITIAL_INDEX_SIZE = 2;
    static constexpr std::size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 1;
};

int main(int count, char **arguments) {
    const int producers = count > 1 ? std::atoi(arguments[1]) : 1;
    const int values = count > 2 ? std::atoi(arguments[2]) : 2;
    moodycamel::ConcurrentQueue<int, Small> queue(2);
    std::vector<std::thread> threads;
    for (int producer = 0; producer < producers; ++producer)
        threads.emplace_back([&queue, producer, values] {
            for (int number = 0; number < values; ++number)
                queue.enqueue(producer * values + number);
        });
    std::vector<int> next(producers);
    int taken = 0;
    auto take = [&] {
        int value = -1;
        if (!queue.try_dequeue(value))
            return false;
        const int producer = value / values;
        assert(value % values == next[producer]);
        next[producer]++;
        taken++;
        return true;
    };
    take();
    for (auto &thread : threads)
        thread.join();
    while (take())
        ;
    assert(taken == producers * values);
}
