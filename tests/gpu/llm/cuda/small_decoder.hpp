// Random models for the tests of the CUDA decoder: on a GPU if nvcc compiles them, else in the emulator.
#pragma once
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/llm/cuda/cuda_decoder.hpp"
#include "tests/fixtures_folder.hpp"
#ifdef __CUDACC__
#include "gpu/kernels/cuda/cuda_machine.cuh"
#else
#include "tests/gpu/kernels/cuda/emulated_machine.hpp"
#endif

namespace troupe::cuda {

#ifdef __CUDACC__
using test_machine = cuda_machine<8>;
inline constexpr bool on_gpu = true;
inline std::unique_ptr<test_machine> make_machine(uint32_t) { return std::make_unique<test_machine>(); }
/// Whether there is a suitable GPU; prints a message if not.
inline bool can_run() {
  int count = 0;
  const bool can = cudaGetDeviceCount(&count) == cudaSuccess && count > 0 && runs_sm90_code();
  if (!can) MESSAGE("not run: it takes a Hopper GPU");
  return can;
}
#else
using test_machine = emulated_machine;
inline constexpr bool on_gpu = false;
inline std::unique_ptr<test_machine> make_machine(uint32_t seed) {
  return std::make_unique<test_machine>(seed);
}
inline bool can_run() { return true; }
#endif

using llm::adapter_id;
using llm::llm_step;

inline const std::filesystem::path fixtures = fixtures_folder();
inline constexpr uint32_t block_tokens = 4, blocks = 128;
inline const std::atomic<bool> not_stopping = false;

inline cuda_decoder_options options_of(const llm::model_config& config, uint32_t adapter_slots, bool graphs) {
  return {blocks * shape_of(config, block_tokens).page_bytes(), block_tokens, adapter_slots, graphs};
}

/// A model and, optionally, its adapter as adapter 7.
template <element E>
struct small_model {
  explicit small_model(const std::filesystem::path& folder, bool graphs = true, uint32_t seed = 0)
      : small_model(folder, make_machine(seed), graphs) {}
  small_model(const std::filesystem::path& folder, std::unique_ptr<test_machine> made, bool graphs)
      : files(folder),
        machine(*made),
        decoder(std::move(made), files.config(), options_of(files.config(), 4, graphs)) {
    for (uint32_t l = files.layers(); l > 0; --l) decoder.load(l - 1, files.read(l - 1));
    add(adapter_id{7}, folder / "adapter");
  }
  void add(adapter_id id, const std::filesystem::path& folder) {
    if (!std::filesystem::exists(folder)) return;
    decoder.load(id, decoder.pack(llm::read_adapter(folder, files.config())));
    machine.finish();
  }
  /// Chooses the most likely tokens, and returns the logits; none if the head does not run.
  std::vector<float> run(const llm_step& step) { return run(step, 0, files.layers(), nullptr); }
  std::vector<float> run(const llm_step& step, uint32_t first, uint32_t end, llm::activation* x) {
    llm::token_sampling best;
    best.params = &greedy;
    const std::vector<llm::token_sampling> samplings(step.sampled.size(), best);
    decoder.begin(step, samplings, first, end, x);
    CHECK(decoder.finish(chosen, not_stopping));
    return end == files.layers() ? decoder.logits(samplings.size()) : std::vector<float>();
  }

  llm::checkpoint files;
  test_machine& machine;
  cuda_decoder<test_machine, E> decoder;
  llm::sampling_params greedy{.temperature = 0, .biases = {}};
  std::vector<llm::chosen_token> chosen;
};

/// Appends rows [first, end) of a sequence to a step; the last one is sampled.
inline void append(llm_step& s, const std::vector<llm::token>& tokens, uint32_t first, uint32_t end,
                   uint32_t first_block, adapter_id adapter) {
  if (s.sequences.empty()) s.block_start = {0}, s.segment_end = {0};
  const auto sequence = static_cast<uint32_t>(s.sequences.size());
  s.sequences.push_back(llm::sequence_id{sequence + 1});
  for (uint32_t p = first; p < end; ++p)
    s.tokens.push_back(tokens[p]), s.positions.push_back(p), s.row_sequence.push_back(sequence);
  for (uint32_t b = 0; b * block_tokens < end; ++b) s.blocks.push_back(first_block + (b * 5) % 23);
  s.block_start.push_back(static_cast<uint32_t>(s.blocks.size()));
  if (!s.segment_adapters.empty() && s.segment_adapters.back() == adapter) {
    s.segment_end.back() = s.rows();
  } else {
    s.segment_adapters.push_back(adapter), s.segment_end.push_back(s.rows());
  }
  s.sampled.push_back(s.rows() - 1);
}

inline double relative_l2(const float* got, const std::vector<float>& wanted) {
  double off = 0, all = 0;
  for (size_t i = 0; i < wanted.size(); ++i)
    off += std::pow(double{got[i]} - wanted[i], 2), all += std::pow(double{wanted[i]}, 2);
  return std::sqrt(off / all);
}

inline nlohmann::json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  return nlohmann::json::parse(in);
}

}  // namespace troupe::cuda
