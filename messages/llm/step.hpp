// One step of a language model, as an engine orders it from its device. Flat arrays in the layout of the
// kernels, so that they are built once and not per layer.
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

/// Placeholder for a token that the previous step will choose, for this entry of its `sampled`.
constexpr token chosen_before(uint32_t entry) { return ~static_cast<token>(entry); }
constexpr bool is_chosen_before(token t) { return t < 0; }
constexpr uint32_t entry_before(token t) { return static_cast<uint32_t>(~t); }

/// Rows are tokens. Prefill rows come first, then decodes. Within each part rows of the same adapter are
/// consecutive, and so are rows of the same sequence, by position (Punica §4).
struct llm_step {
  std::vector<token> tokens;           ///< [rows]; in a step that is planned ahead some are `chosen_before`
  std::vector<uint32_t> positions;     ///< [rows] position in the sequence, from 0
  std::vector<uint32_t> row_sequence;  ///< [rows] index into `sequences`

  std::vector<sequence_id> sequences;
  /// Blocks of sequence i: [block_start[i], block_start[i + 1]) of `blocks`. Position p lies in number p /
  /// block_tokens of them.
  std::vector<uint32_t> block_start;  ///< [sequences + 1]
  std::vector<uint32_t> blocks;

  /// Rows of segment i: [segment_end[i], segment_end[i + 1]). Neighbours have different adapters.
  std::vector<uint32_t> segment_end;         ///< [segments + 1], from 0 to `rows`
  std::vector<adapter_id> segment_adapters;  ///< [segments]

  /// Rows, ascending, after which a token is sampled: the last ones of their sequences.
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
