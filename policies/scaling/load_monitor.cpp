#include "policies/scaling/load_monitor.hpp"

#include <algorithm>

namespace troupe {

std::string_view to_string(instance_resource r) {
  constexpr std::array<std::string_view, instance_resource_count> names{"prefill", "kv", "sequences"};
  return names[static_cast<size_t>(r)];
}

double prefill_rate(const step_forecast& steps, uint32_t chunk, uint32_t decodes) {
  const auto step =
      to_seconds(steps.fixed) + decodes * to_seconds(steps.decode) + chunk * to_seconds(steps.prefill);
  return step > 0 ? chunk / step : 0;
}

void load_monitor::learn(const measured_load& load) {
  const auto known = load_;
  load_ = load;
  if (load.max_kv_tokens == 0) load_.max_kv_tokens = known.max_kv_tokens;
  if (load.max_sequences == 0) load_.max_sequences = known.max_sequences;
  if (load.steps == step_forecast{}) load_.steps = known.steps;
}

void load_monitor::learn_loading(bool any, time_point now) {
  if (any && !loading_since_) loading_since_ = now;
  if (!any && loading_since_) loading_time_ = now - *loading_since_;
  if (!any) loading_since_.reset();
}

std::array<resource_load, instance_resource_count> load_monitor::loads(time_point now) const {
  constexpr duration longest = 60s;  // an instance may wait for room, or for weights
  const auto loads_for = std::max(loading_time_, loading_since_ ? now - *loading_since_ : duration{});
  const auto backlog = to_seconds(std::max(loop_.backlog, std::min(loads_for, longest)));
  const auto number = [](auto n) { return static_cast<double>(n); };
  const scale_bounds prefill{loop_.prefill_low, loop_.prefill_high};
  const scale_bounds decode{loop_.decode_low, loop_.decode_high};
  const bool waits_to_decode = !apart_ || load_.decode_full;
  const auto kv = load_.kv_tokens + (waits_to_decode ? load_.waiting_tokens : 0);
  const auto sequences = load_.running + (waits_to_decode ? load_.waiting : 0);
  const auto to_prefill = load_.uncomputed_tokens + (load_.decode_full ? 0 : load_.waiting_tokens);
  return {{{load_.arriving_per_s + number(to_prefill) / backlog,
            prefill_rate(load_.steps, chunk_, apart_ ? 0 : max_sequences_), prefill},
           {number(kv), number(load_.max_kv_tokens), decode},
           {number(sequences), number(load_.max_sequences), decode}}};
}

}  // namespace troupe
