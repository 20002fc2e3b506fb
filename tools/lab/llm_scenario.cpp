#include "tools/lab/llm_scenario.hpp"

#include <algorithm>
#include <cmath>

#include "policies/llm/routing_policy.hpp"

namespace troupe::lab {

namespace {

/// The arrival time of the n-th request if the rate rises linearly to `peak` and falls again. None: after the
/// end.
std::optional<double> rising_and_falling(double n, double peak, double length) {
  const double all = peak * length / 2;
  if (n >= all) return {};
  return n < all / 2 ? std::sqrt(n * length / peak) : length - std::sqrt((all - n) * length / peak);
}

}  // namespace

uint64_t request_count(const llm_scenario& t, uint64_t at_once, duration length) {
  return t.peak_rps ? static_cast<uint64_t>(*t.peak_rps * to_seconds(length) / 2) : at_once;
}

uint32_t adapter_count(const llm_scenario& t, uint64_t requests) {
  if (t.adapters > 0) return t.adapters;
  switch (t.popularity) {
    case adapter_popularity::distinct: return static_cast<uint32_t>(std::max<uint64_t>(1, requests));
    case adapter_popularity::identical: return 1;
    default: return static_cast<uint32_t>(std::ceil(std::sqrt(static_cast<double>(requests))));
  }
}

std::vector<traced_generation> generations_of(const llm_scenario& t, uint64_t at_once, duration length,
                                              uint64_t seed) {
  const auto requests = request_count(t, at_once, length);
  llm_traffic_options o;
  o.arrivals = arrival_spec{.kind = arrival_kind::poisson, .rate = 1};  // one second is then one request
  o.prompt = t.prompt;
  o.output = t.output;
  o.adapters = adapter_count(t, requests);
  o.popularity = t.popularity;
  o.alpha = t.alpha;
  o.seed = seed;
  llm_traffic traffic(o);
  std::vector<traced_generation> out;
  while (t.peak_rps || out.size() < requests) {
    auto generation = traffic.next();
    const auto at =
        t.peak_rps ? rising_and_falling(to_seconds(generation.at), *t.peak_rps, to_seconds(length)) : 0;
    if (!at) break;
    generation.at = from_ms(*at * 1e3);
    out.push_back(std::move(generation));
  }
  return out;
}

std::optional<llm_policy> llm_policy_named(std::string_view name) {
  if (name == "mixed") return llm_policy{"punica", true};
  if (name == "one_adapter") return llm_policy{"punica", false};
  if (routing_policies().find(name) == nullptr) return {};
  return llm_policy{std::string(name), true};
}

std::vector<std::string_view> llm_policy_names() {
  std::vector<std::string_view> out{"mixed", "one_adapter"};
  for (const auto n : routing_policies().names()) out.push_back(n);
  return out;
}

}  // namespace troupe::lab
