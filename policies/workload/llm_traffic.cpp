#include "policies/workload/llm_traffic.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {
namespace {

uint32_t draw(random_stream& random, const token_lengths& l) {
  const auto drawn = l.median * std::exp(l.sigma * standard_normal(random));
  return static_cast<uint32_t>(std::clamp(std::round(drawn), 1.0, static_cast<double>(std::max(1u, l.max))));
}

std::vector<double> shares_of(const llm_traffic_options& o) {
  const auto n = std::max(1u, o.adapters);
  switch (o.popularity) {
    case adapter_popularity::skewed: return geometric_shares(n, o.alpha);
    case adapter_popularity::zipf: return zipf_shares(n, o.alpha);
    default: return zipf_shares(n, 0);
  }
}

std::string numbered(const std::string& prefix, uint64_t n) {
  auto digits = std::to_string(n);
  return prefix + std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits;
}

}  // namespace

llm_traffic::llm_traffic(const llm_traffic_options& options)
    : options_(options),
      arrivals_(options.arrivals, time_point{}, random_stream(options.seed, "arrivals")),
      popular_(shares_of(options)),
      lengths_(options.seed, "lengths"),
      adapters_(options.seed, "adapters"),
      tenants_(options.seed, "tenants") {}

std::string llm_traffic::some_adapter() {
  switch (options_.popularity) {
    case adapter_popularity::distinct: return numbered(options_.adapter_prefix, count_ % options_.adapters);
    case adapter_popularity::identical: return numbered(options_.adapter_prefix, 0);
    default: return numbered(options_.adapter_prefix, popular_(adapters_));
  }
}

traced_generation llm_traffic::next() {
  traced_generation t;
  t.at = arrivals_.next().time_since_epoch();
  t.prompt_tokens = draw(lengths_, options_.prompt);
  t.output_tokens = draw(lengths_, options_.output);
  if (options_.adapters > 0) t.adapter = some_adapter();
  if (options_.tenants > 0) t.tenant = "tenant-" + std::to_string(tenants_.below(options_.tenants));
  t.slo = options_.slo;
  ++count_;
  return t;
}

}  // namespace troupe
