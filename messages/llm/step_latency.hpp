// Latency model of a step on an emulated device.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "messages/common/time.hpp"
#include "messages/llm/step.hpp"

namespace troupe::llm {

/// Features that determine a step's time. A row's context is the positions that it attends to: those of its
/// sequence up to its own. A sequence with one row in the step decodes; one with more is prefilled.
struct step_shape {
  uint64_t prefill_tokens = 0;
  uint64_t prefill_context = 0;  ///< sum over the prefill's rows
  uint64_t decodes = 0;
  uint64_t decode_context = 0;   ///< sum over the decodes
  uint64_t longest_context = 0;  ///< of a decode
  uint64_t adapter_rows = 0;     ///< rows with an adapter
  uint64_t adapters = 0;         ///< segments with an adapter

  bool operator==(const step_shape&) const = default;
};

inline step_shape shape_of(const llm_step& step) {
  step_shape s;
  for (uint32_t begin = 0, end = 0; begin < step.rows(); begin = end) {
    uint64_t context = 0;
    while (end < step.rows() && step.row_sequence[end] == step.row_sequence[begin])
      context += step.positions[end++] + 1;
    if (end - begin > 1) {
      s.prefill_tokens += end - begin;
      s.prefill_context += context;
    } else {
      ++s.decodes;
      s.decode_context += context;
      s.longest_context = std::max(s.longest_context, context);
    }
  }
  for (size_t i = 0; i < step.segment_adapters.size(); ++i) {
    if (step.segment_adapters[i] == base_model) continue;
    ++s.adapters;
    s.adapter_rows += step.segment_end[i + 1] - step.segment_end[i];
  }
  return s;
}

/// Linear in the shape. Attention over few rows waits for the longest sequence, over many rows for all of
/// them: hence two terms for the context of decodes.
struct step_latency {
  using part = std::chrono::duration<double, std::nano>;  // some are below a nanosecond a token
  part fixed{};
  part prefill_token{};
  part prefill_context{};  ///< per token and position that it attends to
  part decode{};           ///< per row
  part decode_context{};   ///< per position that a decode attends to
  part longest_context{};  ///< per position of the longest decode
  part adapter_row{};
  part adapter{};

  duration operator()(const step_shape& s) const {
    const auto times = [](part p, uint64_t n) { return p * static_cast<double>(n); };
    return std::chrono::duration_cast<duration>(
        fixed + times(prefill_token, s.prefill_tokens) + times(prefill_context, s.prefill_context) +
        times(decode, s.decodes) + times(decode_context, s.decode_context) +
        times(longest_context, s.longest_context) + times(adapter_row, s.adapter_rows) +
        times(adapter, s.adapters));
  }
  bool operator==(const step_latency&) const = default;
};

/// Profile of a language model on an emulated device.
struct llm_profile {
  step_latency step;
  uint64_t kv_token_bytes = 0;  ///< keys and values of a position, all layers
  duration adapter_load{};      ///< onto the device
  bool operator==(const llm_profile&) const = default;
};

}  // namespace troupe::llm
