// A range of registered memory.
#pragma once
#include <cstdint>

namespace troupe {

struct pull_range {
  uint64_t offset = 0;
  uint64_t size = 0;
};

}  // namespace troupe
