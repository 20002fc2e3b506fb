// `troupe generate`: generates one sequence with a checkpoint, in this process, without a cluster.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "policies/llm/sequence_batch.hpp"

namespace troupe {

struct generate_options {
  std::string model;    ///< folder of a Hugging Face checkpoint
  std::string adapter;  ///< folder of a PEFT adapter; empty: the base model
  std::string prompt;   ///< text; or, if it is empty,
  std::vector<int32_t> ids;
  bool has_prompt = false;
  uint32_t max_tokens = 16;
  llm::sampling_params sampling = llm::greedy();
  bool ignore_eos = false;  ///< continues after end tokens
  std::string device = "cpu";
  std::string dtype = "f32";
  std::vector<int64_t> logits_at;  ///< positions of the prompt; negative: from its end, -1 is the last
  bool json = false;
};

/// Greedy unless a temperature is given. Prints the text as it is generated, or with `json` one document:
/// prompt_ids, ids (generated ones), text, finish_reason ("stop", "length"; "error" if the model yields
/// non-finite logits) and, with `logits_at`, logits: a list for each position. A model without tokenizer
/// files takes `ids`; the text is then empty. Returns 0; 1 for non-finite logits; 2 for an unusable model or
/// request, with one message to standard error.
int run_generate(const generate_options& options);

}  // namespace troupe
