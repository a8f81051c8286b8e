// A ring buffer for one producer and one consumer, as in many C++ programs: each side keeps its own index and a copy of the other
// side's, which it looks at again only if the ring seems to be full or empty.
//
// With -DRELAXED the producer publishes its index with a relaxed store: then nothing orders its write of the slot and the
// consumer's read, a data race.

#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <optional>
#include <thread>

#ifdef RELAXED
constexpr auto PUBLISH = std::memory_order_relaxed;
#else
constexpr auto PUBLISH = std::memory_order_release;
#endif

template <typename T, std::size_t Slots> class Ring {
  public:
    bool push(T value) {
        auto tail = tail_.load(std::memory_order_relaxed);
        if (tail - seen_head_ == Slots) {
            seen_head_ = head_.load(std::memory_order_acquire);
            if (tail - seen_head_ == Slots)
                return false;
        }
        slots_[tail % Slots] = std::move(value);
        tail_.store(tail + 1, PUBLISH);
        return true;
    }

    std::optional<T> pop() {
        auto head = head_.load(std::memory_order_relaxed);
        if (head == seen_tail_) {
            seen_tail_ = tail_.load(std::memory_order_acquire);
            if (head == seen_tail_)
                return std::nullopt;
        }
        T value = std::move(slots_[head % Slots]);
        head_.store(head + 1, std::memory_order_release);
        return value;
    }

  private:
    std::array<T, Slots> slots_{};
    alignas(64) std::atomic<std::size_t> head_{0};
    std::size_t seen_tail_ = 0;
    alignas(64) std::atomic<std::size_t> tail_{0};
    std::size_t seen_head_ = 0;
};

int main() {
    static Ring<int, 2> ring;
    int pushed = 0;
    std::thread producer([&pushed] {
        while (pushed < 3 && ring.push(pushed + 1))
            ++pushed;
    });
    int last = 0;
    for (int tries = 0; tries < 3; ++tries)
        if (auto value = ring.pop())
            assert(*value == ++last);
    producer.join();
    while (auto value = ring.pop())
        assert(*value == ++last);
    assert(last == pushed);
}
