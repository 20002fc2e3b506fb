#include "tools/lab/experiment.hpp"

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
    case measure::trace: return {"dropped", "served", "mean_batch", "least_batch_at_end"};
    case measure::scheduler: return {"scheduled_rps", "per_cpu_second", "bad_rate", "mean_batch"};
    case measure::partition:
      return {"rate_imbalance",   "least_rate_imbalance",   "largest_rate_imbalance",
              "memory_imbalance", "least_memory_imbalance", "largest_memory_imbalance",
              "seconds"};
  }
  return {};
}

}  // namespace troupe::lab
