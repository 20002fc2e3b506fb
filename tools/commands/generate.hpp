// `troupe generate`: one text from a language model's folder, in this process, without a cluster.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "policies/llm/sequence_batch.hpp"

namespace troupe {

struct generate_options {
  std::string model;    ///< folder of a Hugging Face checkpoint
  std::string adapter;  ///< folder of a PEFT adapter; empty: the base model
  std::string prompt;   ///< text; or, if it is not given,
  std::vector<int32_t> ids;
  bool has_prompt = false;
  uint32_t max_tokens = 16;
  llm::sampling_params sampling = llm::greedy();
  bool ignore_eos = false;  ///< goes on after what ends a text
  std::string device = "cpu";
  std::string dtype = "f32";
  std::vector<int64_t> logits_at;  ///< positions of the prompt; from its end if negative, -1 is the last
  bool json = false;
};

/// Greedy unless a temperature is given. Prints the text as it comes, or with `json` one document:
/// prompt_ids, ids (generated ones), text, finish_reason ("stop", "length"; "error" if the model gives no
/// numbers) and, with `logits_at`, logits: a list for each position. A model without tokenizer files serves
/// `ids`; the text is empty then. Returns 0; 1 if the model gives no numbers; 2 for a model or a request that
/// cannot be used, with one message to standard error.
int run_generate(const generate_options& options);

}  // namespace troupe
