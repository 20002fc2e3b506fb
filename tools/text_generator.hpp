// Texts from a language model in this process: steps of a decoder, one after the other, for whatever was
// asked.
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/llm/decoder.hpp"
#include "policies/text_batch.hpp"

namespace troupe::llm {

/// Of a generator that one adapter is loaded for.
inline constexpr adapter_id only_adapter{1};

struct generated_text {
  std::vector<token> tokens;
  finish_reason reason = finish_reason::none;
  bool failed = false;                     ///< it ended because the model gave no numbers to choose from
  std::vector<std::vector<float>> logits;  ///< where they were asked for, in that order; [vocabulary] each
  bool ended() const { return failed || reason != finish_reason::none; }
};

class text_generator {
 public:
  /// `d` outlives this and has all layers loaded before the first step; of `limits` its blocks and their size
  /// are taken from there.
  text_generator(decoder& d, batching_limits limits);

  /// Until an adapter is loaded its texts wait. It must stay in the decoder until it is unloaded here and has
  /// no users.
  void adapter_loaded(adapter_id a) { texts_.batching().adapter_loaded(a); }
  void adapter_unloaded(adapter_id a) { texts_.batching().adapter_unloaded(a); }
  uint32_t users(adapter_id a) const { return texts_.batching().users(a); }
  /// `logits_at`: positions of the prompt after which logits are wanted.
  /// Throws request_refused: a token that the vocabulary lacks, too long a text for the model or the KV
  /// cache, a full queue.
  sequence_id add(text_request r, std::vector<uint32_t> logits_at = {});
  /// Ends a text if it has not ended, and forgets it: ended texts, too, are kept until then.
  void forget(sequence_id id);
  /// One step. False: there is nothing that can run. If it throws, the generator is of no use any more.
  bool step();

  /// Of a text that was added: what there is so far.
  const generated_text& text(sequence_id id) const { return known_.at(id).text; }
  uint64_t evictions() const { return texts_.batching().evictions(); }

 private:
  struct watched_text {
    std::vector<uint32_t> logits_at;
    generated_text text;
  };

  void keep_logits(const llm_step& step);

  decoder& decoder_;
  text_batch texts_;
  std::unordered_map<sequence_id, watched_text> known_;
  activation activation_;
  std::vector<float> logits_;
  std::vector<std::vector<float>*> wanted_;  // of `logits_at`, in the step that runs
  std::vector<uint32_t> wanted_rows_;
  std::vector<chosen_token> chosen_;
};

}  // namespace troupe::llm
