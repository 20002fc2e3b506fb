#include "tools/lab/partition_measure.hpp"

#include <algorithm>
#include <string>

#include "tools/lab/sample_statistics.hpp"

namespace troupe::lab {

sample measure_partition(const partition_setup& setup, std::string_view policy, uint64_t seed, bool quick) {
  auto study = setup.study;
  study.random_seconds = quick ? setup.quick_random_seconds : setup.random_seconds;
  const auto m = policy == partition_methods[0] ? method::search : method::random;
  const auto r = partition_once(setup.zoo, study, static_cast<uint32_t>(seed), m);
  sample out;
  out.value = r.found.quality.rate_imbalance;
  out.metrics = {{"rate_imbalance", r.found.quality.rate_imbalance},
                 {"memory_imbalance", r.found.quality.memory_imbalance},
                 {"seconds", r.seconds}};
  return out;
}

void summarise_partitions(const std::vector<sample>& samples, point& out) {
  const auto all = [&](const std::string& metric) {
    std::vector<double> values;
    for (const auto& s : samples) values.push_back(s.metrics.at(metric));
    std::sort(values.begin(), values.end());
    return values;
  };
  for (const std::string metric : {"rate_imbalance", "memory_imbalance"}) {
    const auto values = all(metric);
    out.metrics[metric] = quantile(values, 0.5);
    out.metrics["min_" + metric] = values.front();
    out.metrics["max_" + metric] = values.back();
    table curve{metric, {metric, "configurations_up_to"}, {}};
    for (size_t i = 0; i < values.size(); ++i)
      curve.rows.push_back({values[i], static_cast<double>(i + 1) / static_cast<double>(values.size())});
    out.tables.push_back(std::move(curve));
  }
  out.metrics["seconds"] = quantile(all("seconds"), 0.5);
}

}  // namespace troupe::lab
