#include "tools/lab/experiment.hpp"

#include <algorithm>

namespace troupe::lab {

std::string_view main_metric(measure m) {
  switch (m) {
    case measure::goodput:
    case measure::load: return "goodput_rps";
    case measure::fewest_gpus: return "gpus";
    case measure::timeline: return "bad_rate";
    case measure::trace: return "dropped";
    case measure::scheduler: return "scheduled_rps";
    case measure::partition: return "rate_imbalance";
    case measure::llm: return "tokens_per_s";
    case measure::latency: return "latency_us";
    case measure::scaling: return "ready_s";
    case measure::chain: return "first_s";
  }
  return {};
}

std::vector<std::string_view> metrics_of(measure m) {
  switch (m) {
    case measure::goodput:
      return {"goodput_rps",  "ci95",         "bad_rate",     "mean_batch",    "median_batch",     "gpu_busy",
              "queue_p50_ms", "queue_p99_ms", "queue_max_ms", "staggered_rps", "uncoordinated_rps"};
    case measure::load:
      return {"goodput_rps",  "of_peak",  "ci95",          "bad_rate",     "worst_bad_rate", "mean_batch",
              "median_batch", "gpu_busy", "busy_off_load", "queue_p50_ms", "queue_p99_ms",   "queue_max_ms"};
    case measure::fewest_gpus: return {"gpus", "ci95", "bad_rate", "mean_batch", "gpu_busy"};
    case measure::timeline:
      return {"bad_rate",       "goodput_rps",    "mean_batch",         "gpu_busy",
              "quiet_bad_rate", "used_over_busy", "advice_follows_load"};
    case measure::trace: return {"dropped", "served", "mean_batch", "min_batch_at_end"};
    case measure::scheduler: return {"scheduled_rps", "per_cpu_second", "bad_rate", "mean_batch"};
    case measure::partition:
      return {"rate_imbalance",   "min_rate_imbalance",   "max_rate_imbalance",
              "memory_imbalance", "min_memory_imbalance", "max_memory_imbalance",
              "seconds"};
    case measure::latency: return {"latency_us"};
    case measure::scaling:
      return {"ready_s", "first_ready_s", "domain_ready_s", "weights_s", "planned_s",
              "line_s",  "network_gb",    "scale_up_gb",    "host_gb",   "ssd_gb"};
    case measure::chain: return {"first_s", "formula_first_s", "last_s", "formula_last_s", "off"};
    case measure::llm:
      return {"tokens_per_s", "mean_batch",  "full_share",  "idle_share",  "idle_minutes", "stays_idle",
              "moved",        "ttft_p99_ms", "tpot_p50_ms", "tpot_p99_ms", "completed"};
  }
  return {};
}

bool has_point(const experiment& e, const selector& s) {
  const auto has_values = [&](const experiment_case& c, const std::string& parameter, double value) {
    const auto among = [&](const auto& values) {
      return std::find(values.begin(), values.end(), value) != values.end();
    };
    if (const auto own = c.values.find(parameter); own != c.values.end()) return among(own->second);
    return std::any_of(e.axes.begin(), e.axes.end(), [&](const auto& a) {
      return a.parameter == parameter && (among(a.values) || among(a.quick));
    });
  };
  return std::any_of(e.cases.begin(), e.cases.end(), [&](const auto& c) {
    if (s.case_name && *s.case_name != c.name) return false;
    return std::all_of(s.at.begin(), s.at.end(),
                       [&](const auto& given) { return has_values(c, given.first, given.second); });
  });
}

}  // namespace troupe::lab
