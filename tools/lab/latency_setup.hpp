// Setup of the measure `latency`: one LoRA operator, or one step of a small model.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "config/reader.hpp"
#include "policies/workload/llm_traffic.hpp"

namespace troupe::lab {

struct latency_setup {
  adapter_popularity popularity = adapter_popularity::distinct;  ///< of the rows' adapters
  uint32_t batch = 1;  ///< rows of the operator, sequences of a step
  uint32_t rank = 16;
  uint32_t width = 4096;   ///< inputs and outputs of the operator
  uint32_t context = 128;  ///< positions of a sequence
};

/// sgmv, loop (one operator per adapter) and gather_bmm (copies each row's matrices together, then one
/// operator per row) time the operator, with random adapters in bf16; decode and prefill time steps.
inline constexpr std::string_view latency_policies[]{"sgmv", "loop", "gather_bmm", "decode", "prefill"};

/// Reads `[latency]` of `root`. Absent keys keep the values in `out`, or the defaults. Without the table
/// nothing changes.
void read_latency(section& root, std::optional<latency_setup>& out);

/// Rows of each adapter, as in Punica's workloads (§7), the most popular first. Skewed: each adapter has 1.5
/// times the rows of the next, at least one.
std::vector<uint32_t> rows_by_adapter(adapter_popularity p, uint32_t rows);

}  // namespace troupe::lab
