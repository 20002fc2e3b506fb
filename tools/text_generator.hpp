// Texts from a language model in this process: steps of a decoder, one after the other, for whatever was
// asked.
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/kernels/sampling.hpp"
#include "gpu/llm/decoder.hpp"
#include "policies/continuous_batching.hpp"

namespace troupe::llm {

struct text_request {
  std::vector<token> prompt = {};
  adapter_id adapter = base_model;
  uint32_t max_tokens = 16;
  kernels::sampling_parameters sampling = {.temperature = 0};  ///< greedy
  std::vector<token> stop = {};          ///< any of these ends the text, and is its last token
  std::vector<uint32_t> logits_at = {};  ///< positions of the prompt after which logits are wanted
};

enum class finish : uint8_t {
  none,
  stop,
  length,
  error,  ///< the model gave no numbers to choose from
};
std::string_view to_string(finish f);  ///< "stop", "length", as in OpenAI's API; "error"

struct generated_text {
  std::vector<token> tokens;
  finish reason = finish::none;
  std::vector<std::vector<float>> logits;  ///< of `logits_at`, in that order; [vocabulary] each
};

class text_generator {
 public:
  /// `d` outlives this and has all layers loaded before the first step; of `limits` its blocks and their size
  /// are taken from there.
  text_generator(decoder& d, batching_limits limits);

  /// Until an adapter is loaded its texts wait. It must stay in the decoder until it is unloaded here and has
  /// no users.
  void adapter_loaded(adapter_id a) { batching_.adapter_loaded(a); }
  void adapter_unloaded(adapter_id a) { batching_.adapter_unloaded(a); }
  uint32_t users(adapter_id a) const { return batching_.users(a); }
  /// Throws request_refused: a token that the vocabulary lacks, too long a text for the model or the KV
  /// cache, a full queue.
  sequence_id add(text_request r);
  /// Ends a text if it has not ended, and forgets it: ended texts, too, are kept until then.
  void forget(sequence_id id);
  /// One step. False: there is nothing that can run. If it throws, the generator is of no use any more.
  bool step();

  /// Of a text that was added: what there is so far.
  const generated_text& text(sequence_id id) const { return known_.at(id).text; }
  uint64_t evictions() const { return batching_.evictions(); }

 private:
  struct open_text {
    text_request request;
    generated_text text;
    std::vector<kernels::token_count> counts;       // of its tokens, for penalties
    std::unordered_map<uint32_t, size_t> count_of;  // where in `counts`

    kernels::token_count& count(token t);
  };

  void keep_logits(const llm_step& step);
  sampled_token choose(sequence_id id, std::span<const float> logits);

  decoder& decoder_;
  continuous_batching batching_;
  std::unordered_map<sequence_id, open_text> known_;
  uint64_t next_id_ = 1;
  activation activation_;
  std::vector<float> logits_;
  std::vector<std::vector<float>*> wanted_;  // of `logits_at`, in the step that runs
  std::vector<uint32_t> wanted_rows_;
  std::vector<sampled_token> chosen_;
};

}  // namespace troupe::llm
