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
  }
  return {};
}

std::vector<std::string_view> metrics_of(measure m) {
  switch (m) {
    case measure::goodput:
      return {"goodput_rps", "ci95",         "bad_rate",     "mean_batch",    "median_batch",
              "gpu_busy",    "queue_p50_ms", "queue_p99_ms", "staggered_rps", "uncoordinated_rps"};
    case measure::load:
      return {"goodput_rps",  "ci95",     "bad_rate",     "worst_bad_rate", "mean_batch",
              "median_batch", "gpu_busy", "queue_p50_ms", "queue_p99_ms"};
    case measure::fewest_gpus: return {"gpus", "ci95", "bad_rate", "mean_batch", "gpu_busy"};
    case measure::timeline: return {"bad_rate", "goodput_rps", "mean_batch", "gpu_busy", "quiet_bad_rate"};
    case measure::trace: return {"dropped", "served", "mean_batch", "least_batch_at_end"};
    case measure::scheduler: return {"scheduled_rps", "per_cpu_second", "bad_rate", "mean_batch"};
  }
  return {};
}

}  // namespace troupe::lab
