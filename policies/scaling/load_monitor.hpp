// What the measured load of a language model needs of its instances, and what one of them has.
#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "messages/cluster/cluster.hpp"
#include "messages/llm/measured_load.hpp"
#include "policies/scaling/scale_rule.hpp"

namespace troupe {

/// The resources of an instance that requests use up.
enum class instance_resource : uint16_t {
  prefill,   ///< tokens of prompts a second, while all of its places decode, if it decodes
  kv,        ///< tokens in the KV cache
  sequences  ///< places of sequences that run
};
inline constexpr size_t instance_resource_count = 3;
std::string_view to_string(instance_resource r);

/// Tokens of prompts that an engine prefills in a second, `chunk` with each step, beside so many decodes.
/// 0: there is no forecast.
double prefill_rate(const step_forecast& steps, uint32_t chunk, uint32_t decodes);

/// - Prefill: what arrives, and what waits to be prefilled over `backlog`, or over the time that
///   instances load or took to load, if that is longer. So requests that wait because instances load ask for
///   few more.
/// - KV and sequences: what is there and what waits.
/// - Of a model that is disaggregated, requests that wait for an instance count for what decodes if none has
/// room
///   to decode, and otherwise for what prefills.
/// - What one instance has is remembered while none serves.
class load_monitor {
 public:
  explicit load_monitor(const llm_spec& model)
      : loop_(model.loop),
        chunk_(model.prefill_chunk),
        max_sequences_(model.max_sequences),
        apart_(model.disaggregated()) {}

  void learn(const measured_load& load);
  /// Whether any instance loads, now.
  void learn_loading(bool any, time_point now);

  /// By resource.
  std::array<resource_load, instance_resource_count> loads(time_point now) const;
  double arriving_per_s() const { return load_.arriving_per_s; }
  uint64_t waiting_tokens() const { return load_.waiting_tokens + load_.uncomputed_tokens; }

 private:
  const scaling_loop_spec loop_;
  const uint32_t chunk_, max_sequences_;
  const bool apart_;    ///< it is disaggregated
  measured_load load_;  ///< with the latest known capacity of an instance
  std::optional<time_point> loading_since_;
  duration loading_time_{};  ///< of the latest instances
};

}  // namespace troupe
