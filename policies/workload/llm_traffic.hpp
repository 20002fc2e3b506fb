// Synthetic generation requests, drawn from a seed: lengths as in chats or as measured, adapter popularities
// as in Punica's experiments (§7), and any arrival process.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "messages/workload/llm_trace.hpp"
#include "policies/common/distributions.hpp"
#include "policies/workload/arrivals.hpp"
#include "policies/workload/burst_arrivals.hpp"
#include "policies/workload/length_distribution.hpp"

namespace troupe {

/// Popularity of adapters.
enum class adapter_popularity : uint8_t {
  distinct,   ///< each request the next one, in turn
  uniform,    ///< all equally popular
  skewed,     ///< each is alpha times as popular as the next (Punica's Zipf-alpha)
  zipf,       ///< the i-th is i^-alpha as popular as the first
  identical,  ///< all the first
};
inline constexpr std::string_view adapter_popularity_names[]{"distinct", "uniform", "skewed", "zipf",
                                                             "identical"};

// Their means are 160 and 340 tokens, the vLLM paper's for ShareGPT (Fig. 11).
inline constexpr token_lengths chat_prompts{.median = 60, .sigma = 1.4, .max = 2048};
inline constexpr token_lengths chat_answers{.median = 185, .sigma = 1.1, .max = 1024};

struct llm_traffic_options {
  std::variant<arrival_spec, burst_spec> arrivals;
  length_spec prompt = chat_prompts, output = chat_answers;
  uint32_t adapters = 0;  ///< 0: the base model
  adapter_popularity popularity = adapter_popularity::zipf;
  double alpha = 1.5;                       ///< of `skewed` and `zipf`
  std::string adapter_prefix = "adapter-";  ///< then the number, four digits or more
  uint32_t tenants = 0;                     ///< 0: none; else "tenant-0" and so on, with equal shares
  std::optional<duration> slo = {};
  uint64_t seed = 1;
};

/// An endless trace; equal options give the same one.
class llm_traffic {
 public:
  explicit llm_traffic(const llm_traffic_options& options);
  traced_generation next();

 private:
  std::string some_adapter();

  const llm_traffic_options options_;
  std::variant<arrival_process, burst_arrivals> arrivals_;
  const length_distribution prompt_, output_;
  weighted_choice popular_;
  random_stream lengths_, adapters_, tenants_;
  uint64_t count_ = 0;
};

}  // namespace troupe
