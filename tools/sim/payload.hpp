// The bytes of a simulated request: unique, so that mix-ups are detected.
#pragma once
#include <cstring>
#include <span>
#include <vector>

#include "gpu/common/fnv.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/common/ids.hpp"
#include "policies/common/random.hpp"

namespace troupe::sim {

/// Bytes of a row; the cluster file gives none for models with a file.
inline uint32_t input_row_of(const model_spec& m) { return m.input_bytes > 0 ? m.input_bytes : 16; }
inline uint32_t output_row_of(const model_spec& m) { return m.output_bytes > 0 ? m.output_bytes : 16; }

inline void fill_input(request_id id, std::span<std::byte> into) {
  uint64_t state = id.value;
  while (!into.empty()) {
    const uint64_t word = splitmix64(state);
    const auto n = std::min(into.size(), sizeof word);
    std::memcpy(into.data(), &word, n);
    into = into.subspan(n);
  }
}

inline uint64_t input_hash(request_id id, size_t bytes) {
  thread_local std::vector<std::byte> buffer;
  buffer.resize(bytes);
  fill_input(id, buffer);
  return fnv1a(buffer);
}

}  // namespace troupe::sim
