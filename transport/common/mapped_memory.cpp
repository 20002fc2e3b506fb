#include "transport/common/mapped_memory.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "transport/common/available_memory.hpp"

namespace troupe {

mapped_memory::mapped_memory(size_t bytes) {
  require_memory(bytes);
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    throw std::runtime_error(
        fmt::format("allocating {} bytes of registered memory: {}", bytes, std::strerror(errno)));
  bytes_ = {static_cast<std::byte*>(at), bytes};
}

mapped_memory::~mapped_memory() { ::munmap(bytes_.data(), bytes_.size()); }

}  // namespace troupe
