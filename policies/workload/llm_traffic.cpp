#include "policies/workload/llm_traffic.hpp"

#include <algorithm>

namespace troupe {
namespace {

std::vector<double> shares_of(const llm_traffic_options& o) {
  const auto n = std::max(1u, o.adapters);
  switch (o.popularity) {
    case adapter_popularity::skewed: return geometric_shares(n, o.alpha);
    case adapter_popularity::zipf: return zipf_shares(n, o.alpha);
    default: return zipf_shares(n, 0);
  }
}

std::variant<arrival_process, burst_arrivals> arrivals_of(const llm_traffic_options& o) {
  const random_stream random(o.seed, "arrivals");
  if (const auto* bursts = std::get_if<burst_spec>(&o.arrivals))
    return burst_arrivals(*bursts, time_point{}, random);
  return arrival_process(std::get<arrival_spec>(o.arrivals), time_point{}, random);
}

std::string numbered(const std::string& prefix, uint64_t n) {
  auto digits = std::to_string(n);
  return prefix + std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits;
}

}  // namespace

llm_traffic::llm_traffic(const llm_traffic_options& options)
    : options_(options),
      arrivals_(arrivals_of(options)),
      prompt_(options.prompt),
      output_(options.output),
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
  t.at = std::visit([](auto& process) { return process.next(); }, arrivals_).time_since_epoch();
  t.prompt_tokens = prompt_(lengths_);
  t.output_tokens = output_(lengths_);
  if (options_.adapters > 0) t.adapter = some_adapter();
  if (options_.tenants > 0) t.tenant = "tenant-" + std::to_string(tenants_.below(options_.tenants));
  t.slo = options_.slo;
  ++count_;
  return t;
}

}  // namespace troupe
