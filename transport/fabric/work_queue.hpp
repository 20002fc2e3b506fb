// Work queue from any thread to the thread that owns it: an intrusive list. Producers push with one
// compare-and-swap, and the owner takes the whole list (Treiber's stack, reversed on taking). Lock-free;
// order is kept per producer.
#pragma once
#include <atomic>
#include <cstddef>
#include <utility>

namespace troupe {

/// `Item` has a member `Item* next` for the queue's use, and a virtual destructor if it is a base.
template <class Item>
class work_queue {
 public:
  work_queue() = default;
  ~work_queue() {
    drain([](Item* item) { delete item; });
  }
  work_queue(const work_queue&) = delete;
  work_queue& operator=(const work_queue&) = delete;

  /// Takes ownership. Sequentially consistent, so that "push, then look whether the owner sleeps" pairs with
  /// "say that I sleep, then look whether the queue is empty".
  void push(Item* item) {
    item->next = head_.load(std::memory_order_relaxed);
    while (!head_.compare_exchange_weak(item->next, item, std::memory_order_seq_cst,
                                        std::memory_order_relaxed)) {
    }
  }

  bool empty() const { return head_.load(std::memory_order_seq_cst) == nullptr; }

  /// Gives everything pushed so far to `consume(Item*)`, oldest first, with its ownership. Returns how many.
  template <class F>
  size_t drain(F consume) {
    if (head_.load(std::memory_order_relaxed) == nullptr) return 0;
    Item* newest = head_.exchange(nullptr, std::memory_order_acq_rel);
    Item* oldest = nullptr;
    while (newest) {
      Item* older = std::exchange(newest->next, oldest);
      oldest = std::exchange(newest, older);
    }
    size_t n = 0;
    for (; oldest; ++n) {
      Item* item = std::exchange(oldest, oldest->next);
      item->next = nullptr;
      consume(item);
    }
    return n;
  }

 private:
  std::atomic<Item*> head_{nullptr};
};

}  // namespace troupe
