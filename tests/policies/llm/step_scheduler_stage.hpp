// A device for continuous batching that detects wrong memory, and sequences for it.
#pragma once
#include <doctest/doctest.h>

#include <deque>
#include <utility>
#include <vector>

#include "policies/common/random.hpp"
#include "policies/llm/step_scheduler.hpp"

namespace troupe::llm {

/// Derives the next token from all tokens read and the adapter.
struct reading {
  uint64_t state;
  explicit reading(adapter_id a) : state(a.value * 0x9e3779b97f4a7c15) {}
  void read(token t) {
    state += static_cast<uint64_t>(t) + 1;
    state = splitmix64(state);
  }
  token next() const { return static_cast<token>(state % 50000); }
};

/// Keeps in a KV cache which token was computed where and with which adapter, and reads through the block
/// table. At the end of a step it repeats the step's writes, because the blocks must stay reserved until
/// then.
class fake_device {
 public:
  explicit fake_device(const scheduler_limits& l)
      : block_tokens_(l.block_tokens), cache_(size_t{l.blocks} * l.block_tokens) {}

  /// Runs immediately, even if it is reported later; a step ahead takes its tokens from the previous run.
  std::vector<sampled_token> run(const llm_step& s) {
    auto& written = under_way_.emplace_back();
    REQUIRE(s.block_start.size() == s.sequences.size() + 1);
    REQUIRE(s.segment_end.size() == s.segment_adapters.size() + 1);
    REQUIRE(s.segment_end.back() == s.rows());
    std::vector<sampled_token> out;
    size_t segment = 0, sampled = 0;
    for (uint32_t row = 0; row < s.rows(); ++row) {
      while (row >= s.segment_end[segment + 1]) ++segment;
      const auto adapter = s.segment_adapters[segment];
      const auto sequence = s.row_sequence[row];
      const auto place = [&](uint32_t position) {
        const auto index = s.block_start[sequence] + position / block_tokens_;
        REQUIRE(index < s.block_start[sequence + 1]);
        return size_t{s.blocks[index]} * block_tokens_ + position % block_tokens_;
      };
      const auto at = [&](uint32_t position) -> entry& { return cache_.at(place(position)); };
      const auto given = s.tokens[row];
      at(s.positions[row]) = {is_chosen_before(given) ? chosen_.at(entry_before(given)) : given, adapter};
      written.emplace_back(place(s.positions[row]), at(s.positions[row]));
      if (sampled == s.sampled.size() || s.sampled[sampled] != row) continue;
      ++sampled;
      reading r(adapter);
      for (uint32_t p = 0; p <= s.positions[row]; ++p) {
        REQUIRE(at(p).adapter == adapter);
        r.read(at(p).value);
      }
      out.push_back({s.sequences[sequence], r.next(), false});
    }
    REQUIRE(sampled == s.sampled.size());
    chosen_.clear();
    for (const auto& c : out) chosen_.push_back(c.chosen);
    return out;
  }
  void copy_block(const fake_device& from, uint32_t theirs, uint32_t own) {
    for (uint32_t i = 0; i < block_tokens_; ++i)
      cache_.at(size_t{own} * block_tokens_ + i) = from.cache_.at(size_t{theirs} * block_tokens_ + i);
  }
  /// The oldest running step has ended.
  void end_step() {
    for (const auto& [place, what] : under_way_.front()) cache_.at(place) = what;
    under_way_.pop_front();
  }

 private:
  struct entry {
    token value = -1;
    adapter_id adapter;
  };
  uint32_t block_tokens_;
  std::vector<entry> cache_;
  std::deque<std::vector<std::pair<size_t, entry>>> under_way_;
  std::vector<token> chosen_;  // by the last step
};

inline std::vector<token> undisturbed(std::vector<token> sequence, uint32_t count, adapter_id a) {
  reading r(a);
  for (const auto t : sequence) r.read(t);
  std::vector<token> out;
  for (; count > 0; --count) {
    out.push_back(r.next());
    r.read(out.back());
  }
  return out;
}

inline scheduler_limits small() {
  return {.max_sequences = 4, .prefill_chunk = 8, .blocks = 16, .block_tokens = 4};
}

inline new_sequence sequence_of(uint64_t id, uint32_t length, uint32_t generated, adapter_id a = base_model) {
  new_sequence s{sequence_id{id}, {}, generated, a};
  for (uint32_t i = 0; i < length; ++i) s.prompt.push_back(static_cast<token>(id * 100 + i));
  return s;
}

struct engine_with_device {
  explicit engine_with_device(const scheduler_limits& l) : engine(l), device(l) {}

  /// Runs a step; returns its rows.
  uint32_t step() {
    const auto& s = engine.plan();
    if (s.rows() == 0) return 0;
    const auto rows = s.rows();
    const auto chosen = device.run(s);
    device.end_step();
    engine.done(chosen);
    return rows;
  }
  std::vector<token> tokens(uint64_t id) const { return *engine.tokens(sequence_id{id}); }

  step_scheduler engine;
  fake_device device;
};

}  // namespace troupe::llm
