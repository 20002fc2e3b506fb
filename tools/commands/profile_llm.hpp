// `troupe profile --model`: how long the steps of a language model take on this machine, as a profile that
// emulated devices follow.
#pragma once
#include <cstdint>
#include <string>

namespace troupe {

struct profile_llm_options {
  std::string model;    ///< folder of a Hugging Face checkpoint
  std::string adapter;  ///< folder of a PEFT adapter; empty: the profile has no terms for adapters
  std::string dtype = "f32";
  uint32_t threads = 1;
  uint32_t max_batch = 32;
  uint32_t max_context = 2048;  ///< at most; the model may have fewer positions
  uint32_t prefill_chunk = 512;
  uint32_t kv_mb = 1024;  ///< of the KV cache: steps that need more are left out
  double seconds = 20;    ///< for all steps, after the model is loaded
  std::string output;     ///< file for the profile; empty: none is written
  bool json = false;
};

/// Runs steps of many shapes, fits their times and prints them with the fit's errors, also on steps that were
/// not fitted; or with `json` one document: {model, dtype, threads, steps: [{shape..., milliseconds,
/// fit_milliseconds, held_out}], profile: {...}, error: {mean, largest}, held_out_error}. Returns 0; 1 if the
/// file cannot be written; 2 for a model, an adapter or options that cannot be used, with one message to
/// standard error.
int profile_llm(const profile_llm_options& options);

}  // namespace troupe
