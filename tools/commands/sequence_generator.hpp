// Generates sequences with a language model in this process: runs the decoder's steps one after the other.
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/llm/decoder.hpp"
#include "policies/llm/sequence_batch.hpp"

namespace troupe::llm {

/// The adapter of a generator with one adapter.
inline constexpr adapter_id only_adapter{1};

struct generated_sequence {
  std::vector<token> tokens;
  finish_reason reason = finish_reason::none;
  bool failed = false;                     ///< ended because of non-finite logits
  std::vector<std::vector<float>> logits;  ///< of the requested positions, in that order; [vocabulary] each
  bool ended() const { return failed || reason != finish_reason::none; }
};

class sequence_generator {
 public:
  /// `d` outlives this and has all layers loaded before the first step; it overrides the number and size of
  /// blocks in `limits`.
  sequence_generator(decoder& d, scheduler_limits limits);

  /// Sequences with an adapter wait until it is loaded. It must stay in the decoder until it is unloaded here
  /// and has no users.
  void adapter_loaded(adapter_id a) { sequences_.scheduler().adapter_loaded(a); }
  void adapter_unloaded(adapter_id a) { sequences_.scheduler().adapter_unloaded(a); }
  uint32_t users(adapter_id a) const { return sequences_.scheduler().users(a); }
  /// `logits_at`: positions of the prompt with requested logits. Throws request_refused for a token outside
  /// the vocabulary, a sequence too long for the model or the KV cache, or a full queue.
  sequence_id add(sequence_request r, std::vector<uint32_t> logits_at = {});
  /// Ends a sequence if it still runs, and removes it: ended sequences, too, are kept until then.
  void forget(sequence_id id);
  /// Runs one step. False: no sequence can run. If it throws, the generator is not usable any more.
  bool step();

  /// The current state of an added sequence.
  const generated_sequence& sequence(sequence_id id) const { return known_.at(id).sequence; }
  /// With a prefix cache, logits of cached positions stay empty.
  uint64_t cached_tokens() const { return sequences_.scheduler().cache_use().hit; }
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
  std::vector<std::vector<float>*> wanted_;  // of `logits_at`, in the running step
  std::vector<uint32_t> wanted_rows_;
  std::vector<chosen_token> chosen_;
};

}  // namespace troupe::llm
