// `troupe profile --model`: measures the steps of a language model on this machine, as a profile for emulated
// devices.
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
  uint32_t max_context = 2048;  ///< upper bound; the model may have fewer positions
  uint32_t prefill_chunk = 512;
  uint32_t kv_mb = 1024;  ///< of the KV cache; steps that need more are skipped
  double seconds = 20;    ///< for all steps, after the model is loaded
  std::string output;     ///< file for the profile; empty: none is written
  bool json = false;
};

/// Runs steps of many shapes, fits their times and prints them with the errors of the fit, also on steps that
/// are not part of it; or with `json` one document: {model, dtype, threads, steps: [{shape..., milliseconds,
/// fit_milliseconds, held_out}], profile: {...}, error: {mean, largest}, held_out_error}. Returns 0; 1 if the
/// file cannot be written; 2 for an unusable model, adapter or option, with one message to standard error.
int profile_llm(const profile_llm_options& options);

}  // namespace troupe
