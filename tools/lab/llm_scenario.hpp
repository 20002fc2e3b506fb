// Scenario of the measure `llm`: emulated engines of a language model, and the load on them.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/llm/step_latency.hpp"
#include "messages/workload/llm_trace.hpp"
#include "policies/workload/llm_traffic.hpp"

namespace troupe::lab {

struct llm_scenario {
  llm::llm_profile profile;     ///< of a device
  uint32_t engines = 1;         ///< one a device
  uint32_t max_sequences = 32;  ///< on an engine at once
  double kv_gb = 24;            ///< of an engine's KV cache
  uint32_t adapter_slots = 32;
  duration consolidate_every = 1s;  ///< zero: never; `least_loaded` and `round_robin` never do

  token_lengths prompt = chat_prompts, output = chat_answers;
  adapter_popularity popularity = adapter_popularity::skewed;
  double alpha = 1.5;
  uint32_t adapters = 0;  ///< 0: as Punica (§7): √requests, or one each

  /// None: all requests arrive at once. Else a Poisson process whose rate rises linearly to this value in the
  /// middle of the run, and falls again.
  std::optional<double> peak_rps;
  duration length = 3600s, quick_length = 120s;  ///< of arrivals; unused if all requests arrive at once
};

/// The number of requests; an expected value if they do not arrive at once.
uint64_t request_count(const llm_scenario& t, uint64_t at_once, duration length);
uint32_t adapter_count(const llm_scenario& t, uint64_t requests);

/// The requests by time. `at_once`: their number if all arrive at once.
std::vector<traced_generation> generations_of(const llm_scenario& t, uint64_t at_once, duration length,
                                              uint64_t seed);

/// How engines are run. By name: a routing policy (policies/llm/routing_policy.hpp); `mixed`, Punica's;
/// `one_adapter`, the same with sequences of only one adapter in a batch.
struct llm_policy {
  std::string routing;
  bool mix_adapters = true;
};
std::optional<llm_policy> llm_policy_named(std::string_view name);
std::vector<std::string_view> llm_policy_names();

}  // namespace troupe::lab
