// Sequences from a language model in this process: steps of a decoder, one after the other, for whatever was
// asked.
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/llm/decoder.hpp"
#include "policies/llm/sequence_batch.hpp"

namespace troupe::llm {

/// Of a generator that one adapter is loaded for.
inline constexpr adapter_id only_adapter{1};

struct generated_sequence {
  std::vector<token> tokens;
  finish_reason reason = finish_reason::none;
  bool failed = false;                     ///< it ended because the model gave no numbers to choose from
  std::vector<std::vector<float>> logits;  ///< where they were asked for, in that order; [vocabulary] each
  bool ended() const { return failed || reason != finish_reason::none; }
};

class sequence_generator {
 public:
  /// `d` outlives this and has all layers loaded before the first step; of `limits` its blocks and their size
  /// are taken from there.
  sequence_generator(decoder& d, scheduler_limits limits);

  /// Until an adapter is loaded its sequences wait. It must stay in the decoder until it is unloaded here and
  /// has no users.
  void adapter_loaded(adapter_id a) { sequences_.scheduler().adapter_loaded(a); }
  void adapter_unloaded(adapter_id a) { sequences_.scheduler().adapter_unloaded(a); }
  uint32_t users(adapter_id a) const { return sequences_.scheduler().users(a); }
  /// `logits_at`: positions of the prompt after which logits are wanted.
  /// Throws request_refused: a token that the vocabulary lacks, too long a sequence for the model or the KV
  /// cache, a full queue.
  sequence_id add(sequence_request r, std::vector<uint32_t> logits_at = {});
  /// Ends a sequence if it has not ended, and forgets it: ended sequences, too, are kept until then.
  void forget(sequence_id id);
  /// One step. False: there is nothing that can run. If it throws, the generator is of no use any more.
  bool step();

  /// Of a sequence that was added: what there is so far.
  const generated_sequence& sequence(sequence_id id) const { return known_.at(id).sequence; }
  uint64_t preemptions() const { return sequences_.scheduler().preemptions(); }

 private:
  struct watched_sequence {
    std::vector<uint32_t> logits_at;
    generated_sequence sequence;
  };

  void keep_logits(const llm_step& step);

  decoder& decoder_;
  sequence_batch sequences_;
  std::unordered_map<sequence_id, watched_sequence> known_;
  activation activation_;
  std::vector<float> logits_;
  std::vector<std::vector<float>*> wanted_;  // of `logits_at`, in the step that runs
  std::vector<uint32_t> wanted_rows_;
  std::vector<chosen_token> chosen_;
};

}  // namespace troupe::llm
