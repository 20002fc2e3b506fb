// The checkpoint fixtures/llama-tasks on a CPU: its device, its adapters, and steps of one row.
#pragma once
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gpu/llm/cpu_engine_device.hpp"
#include "tests/gpu/checkpoint/files.hpp"

namespace troupe::llm {

inline const std::filesystem::path llama = fixtures / "llama-tasks";
inline constexpr uint64_t block_bytes =
    4 * 2 * 64 * 4 * 6;  // a token's keys and values times 4, of all layers

inline std::string adapter_of(const std::string& name) { return (llama / "adapters" / name).string(); }

inline cpu_engine_options options_of(uint32_t slots, uint32_t blocks = 256) {
  return {.folder = llama / "base",
          .kv_bytes = blocks * block_bytes,
          .block_tokens = 4,
          .adapter_slots = slots,
          .adapter_bytes = 1 << 30};
}

/// The bits of the sampled tokens and their probabilities.
inline std::vector<std::pair<token, uint32_t>> bits_of(const std::vector<chosen_token>& chosen) {
  std::vector<std::pair<token, uint32_t>> out;
  for (const auto& c : chosen) {
    uint32_t bits = 0;
    std::memcpy(&bits, &c.logprob, sizeof bits);
    out.emplace_back(c.which, bits);
  }
  return out;
}

inline llm_step one_row_step(token t, uint32_t position, adapter_id adapter = base_model) {
  llm_step s;
  s.tokens = {t};
  s.positions = {position};
  s.row_sequence = {0};
  s.sequences = {sequence_id{1}};
  s.block_start = {0, 1};
  s.blocks = {0};
  s.segment_end = {0, 1};
  s.segment_adapters = {adapter};
  s.sampled = {0};
  return s;
}
inline const sampling_params most_likely{.temperature = 0, .biases = {}};
inline const std::vector<token_sampling> one_sampling{{.params = &most_likely, .counts = {}}};

}  // namespace troupe::llm
