#include "transport/common/lazy_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>

namespace troupe {

bool make_present(std::span<std::byte> memory) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(memory.data()) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(memory.data()) + memory.size() + page - 1) / page * page;
  // In steps: other threads cannot map memory meanwhile.
  constexpr uintptr_t step = 256 << 10;
  for (auto at = begin; at < end; at += step)
    if (::madvise(reinterpret_cast<void*>(at), std::min(step, end - at), MADV_POPULATE_WRITE) != 0)
      return errno == EINVAL;  // the kernel does not know it
  return true;
}

void discard_pages(std::span<std::byte> memory) {
  // The first is for shared memory; private memory, which refuses it, is given back by the second.
  if (::madvise(memory.data(), memory.size(), MADV_REMOVE) != 0)
    ::madvise(memory.data(), memory.size(), MADV_DONTNEED);
}

size_t pinned_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name; status.ignore(1 << 10, '\n'))
    if (size_t kib = 0; name == "VmPin:" && status >> kib) return kib << 10;
  return SIZE_MAX;
}

}  // namespace troupe
