// One step of a language model: what an engine asks its device to run. Flat arrays, as kernels read them, so
// that nothing is computed twice, once for each layer.
#pragma once
#include <cstdint>
#include <vector>

#include "messages/common/message.hpp"
#include "messages/llm/token.hpp"

namespace troupe::llm {

/// A sequence that is being generated, unique within its engine.
using sequence_id = strong_id<struct sequence_tag, uint64_t>;
/// An adapter of the engine; 0 is the base model.
using adapter_id = strong_id<struct adapter_tag, uint32_t>;
inline constexpr adapter_id base_model{0};

/// A row's token that is still to be chosen: by the step before, for that entry of its `sampled`.
constexpr token chosen_before(uint32_t entry) { return ~static_cast<token>(entry); }
constexpr bool is_chosen_before(token t) { return t < 0; }
constexpr uint32_t entry_before(token t) { return static_cast<uint32_t>(~t); }

/// Rows are tokens. Those of the prefill come first, then the decodes; inside each part rows of the same
/// adapter are consecutive, and so are rows of the same sequence, by position (Punica §4).
struct llm_step {
  std::vector<token> tokens;           ///< [rows]; of a step that is started ahead, some are `chosen_before`
  std::vector<uint32_t> positions;     ///< [rows] of each in its sequence, from 0
  std::vector<uint32_t> row_sequence;  ///< [rows] index into `sequences`

  std::vector<sequence_id> sequences;
  /// Of sequence i, blocks [block_start[i], block_start[i + 1]): position p lies in number p / block_tokens
  /// of them.
  std::vector<uint32_t> block_start;  ///< [sequences + 1]
  std::vector<uint32_t> blocks;

  /// Of segment i, rows [segment_end[i], segment_end[i + 1]); neighbours have different adapters.
  std::vector<uint32_t> segment_end;         ///< [segments + 1], from 0 to `rows`
  std::vector<adapter_id> segment_adapters;  ///< [segments]

  /// Rows, ascending, after which a token is to be chosen: the last ones of their sequences.
  std::vector<uint32_t> sampled;

  uint32_t rows() const { return static_cast<uint32_t>(tokens.size()); }
  void clear();
};

inline void llm_step::clear() {
  tokens.clear();
  positions.clear();
  row_sequence.clear();
  sequences.clear();
  block_start.clear();
  blocks.clear();
  segment_end.clear();
  segment_adapters.clear();
  sampled.clear();
}

}  // namespace troupe::llm
