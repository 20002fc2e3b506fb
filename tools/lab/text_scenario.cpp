#include "tools/lab/text_scenario.hpp"

#include <algorithm>
#include <cmath>

#include "policies/text_routing.hpp"

namespace troupe::lab {

namespace {

/// When the n-th request comes if the rate rises evenly to `peak` and falls as evenly. None: after the end.
std::optional<double> rising_and_falling(double n, double peak, double length) {
  const double all = peak * length / 2;
  if (n >= all) return {};
  return n < all / 2 ? std::sqrt(n * length / peak) : length - std::sqrt((all - n) * length / peak);
}

}  // namespace

uint64_t request_count(const text_scenario& t, uint64_t at_once, duration length) {
  return t.peak_rps ? static_cast<uint64_t>(*t.peak_rps * to_seconds(length) / 2) : at_once;
}

uint32_t adapter_count(const text_scenario& t, uint64_t requests) {
  if (t.adapters > 0) return t.adapters;
  switch (t.popularity) {
    case adapter_popularity::distinct: return static_cast<uint32_t>(std::max<uint64_t>(1, requests));
    case adapter_popularity::identical: return 1;
    default: return static_cast<uint32_t>(std::ceil(std::sqrt(static_cast<double>(requests))));
  }
}

std::vector<traced_text> texts_of(const text_scenario& t, uint64_t at_once, duration length, uint64_t seed) {
  const auto requests = request_count(t, at_once, length);
  text_traffic_options o;
  o.arrivals = {.kind = arrival_kind::poisson, .rate = 1};  // then a second is a request
  o.prompt = t.prompt;
  o.output = t.output;
  o.adapters = adapter_count(t, requests);
  o.popularity = t.popularity;
  o.alpha = t.alpha;
  o.seed = seed;
  text_traffic traffic(o);
  std::vector<traced_text> out;
  while (t.peak_rps || out.size() < requests) {
    auto text = traffic.next();
    const auto at = t.peak_rps ? rising_and_falling(to_seconds(text.at), *t.peak_rps, to_seconds(length)) : 0;
    if (!at) break;
    text.at = from_ms(*at * 1e3);
    out.push_back(std::move(text));
  }
  return out;
}

std::optional<text_policy> text_policy_named(std::string_view name) {
  if (name == "mixed") return text_policy{"punica", true};
  if (name == "one_adapter") return text_policy{"punica", false};
  if (text_routings().find(name) == nullptr) return {};
  return text_policy{std::string(name), true};
}

std::vector<std::string_view> text_policy_names() {
  std::vector<std::string_view> out{"mixed", "one_adapter"};
  for (const auto n : text_routings().names()) out.push_back(n);
  return out;
}

}  // namespace troupe::lab
