// The heap that some work leaves in use.
#pragma once
#include <malloc.h>

#include <cstdint>

namespace troupe {

/// Counts from its construction on, by glibc: all threads of the process, whatever library allocates. So work
/// of other threads meanwhile counts, too. Memory that was freed and is kept by the allocator does not.
class heap_growth {
 public:
  /// 0 if the heap has shrunk.
  uint64_t bytes() const {
    const auto now = in_use();
    return now > before_ ? now - before_ : 0;
  }

 private:
  static uint64_t in_use() {
    const auto heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;  // pieces of arenas, and mappings of their own
  }

  uint64_t before_ = in_use();
};

}  // namespace troupe
