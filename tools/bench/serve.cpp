#include "tools/bench/serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "actors/frontend/request_timing.hpp"
#include "gpu/common/is_missing.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/device/engine_choice.hpp"
#include "policies/registry/batchings.hpp"
#include "tools/bench/bench_folder.hpp"
#include "tools/bench/child_process.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/load/client.hpp"

namespace troupe {
namespace {

/// A temporary folder with a cluster file.
class cluster_folder {
 public:
  explicit cluster_folder(const bench_serve_options& o) {
    std::ofstream(file()) << fmt::format(R"(name = "bench"

[[node]]
name = "head"
roles = ["gateway", "scheduler"]
control_port = {}
http_port = {}

[[node]]
name = "worker"
roles = ["worker"]
control_port = {}
[[node.device]]
kind = "cpu"

[[model]]
name = "model"
source = "{}"
slo_ms = {}

[policy]
batching = "{}"
)",
                                         free_port(), free_port(), free_port(),
                                         std::filesystem::absolute(o.model_file).string(), o.slo_ms,
                                         o.batching);
  }
  cluster_folder(const cluster_folder&) = delete;
  cluster_folder& operator=(const cluster_folder&) = delete;
  std::string file() const { return (folder_.path() / "cluster.toml").string(); }

 private:
  const bench_folder folder_;
};

/// All samples: quantiles of differences can be negative, which histograms cannot represent.
struct samples {
  std::string name;
  std::vector<duration> all{};
  double us(double quantile) {
    if (all.empty()) return 0;
    const auto at = static_cast<size_t>(quantile * static_cast<double>(all.size() - 1));
    std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(at));
    return to_seconds(all[at]) * 1e6;
  }
};

class stages {
 public:
  stages() {
    for (size_t i = 0; i < request_stage_count; ++i)
      rows_.push_back({std::string(to_string(static_cast<request_stage>(i)))});
    for (const char* name : {"queue and order", "http", "all", "added to execute", "late against the plan"})
      rows_.push_back({name});
  }

  void add(const http_response& r, duration latency) {
    const auto header = r.headers.find("Server-Timing");
    const auto timing = header ? parse_request_timing(*header) : std::nullopt;
    if (!timing) return;
    duration inside{};
    for (size_t i = 0; i < request_stage_count; ++i) {
      rows_[i].all.push_back(timing->stages[i]);
      inside += timing->stages[i];
    }
    auto* more = &rows_[request_stage_count];
    // Summed, because messages between two nodes shift the error of their clocks from one stage to the other.
    more[0].all.push_back((*timing)[request_stage::queue] + (*timing)[request_stage::order]);
    more[1].all.push_back(latency - inside);  // the client, its socket and ours
    more[2].all.push_back(latency);
    more[3].all.push_back(latency - (*timing)[request_stage::execute]);
    more[4].all.push_back(timing->late);
  }
  std::vector<samples>& rows() { return rows_; }

 private:
  std::vector<samples> rows_;
};

void print(const bench_serve_options& o, const load_counts& counts, std::vector<samples>& rows) {
  if (o.json) {
    nlohmann::ordered_json doc{{"requests", counts.sent},
                               {"finished", counts.finished},
                               {"dropped", counts.dropped},
                               {"stages", nlohmann::ordered_json::array()}};
    for (auto& r : rows)
      doc["stages"].push_back(
          {{"name", r.name}, {"p50_us", r.us(0.5)}, {"p99_us", r.us(0.99)}, {"min_us", r.us(0)}});
    fmt::print("{}\n", doc.dump(2));
    return;
  }
  fmt::print("{}, {:.0f} requests/s, {} batching: {} sent, {} finished, {} dropped\n\n", o.model_file, o.rate,
             o.batching, counts.sent, counts.finished, counts.dropped);
  fmt::print("{:<24} {:>10} {:>10} {:>10}\n", "microseconds", "p50", "p99", "min");
  for (auto& r : rows)
    fmt::print("{:<24} {:>10.1f} {:>10.1f} {:>10.1f}\n", r.name, r.us(0.5), r.us(0.99), r.us(0));
}

void measure(const bench_serve_options& o) {
  const cluster_folder folder(o);
  ::setenv("UCX_TLS", o.transports.c_str(), 0);
  child_process cluster({"/proc/self/exe", "up", folder.file()});
  const auto ready = cluster.read_line();
  const auto url = ready.find("http://");
  if (url == std::string::npos) throw std::runtime_error("the cluster did not start");
  load_options load;
  load.url = ready.substr(url);
  load.arrivals.rate = o.rate;
  load.headers.add(std::string(timing_request_header), "1");
  load.length = 1s;
  measure_load(load);  // warms caches, connections and plans
  stages seen;
  load.length = from_ms(1e3 * o.duration_s);
  load.watch = [&](const http_response& r, duration latency) { seen.add(r, latency); };
  const auto report = measure_load(load);
  cluster.stop();
  print(o, report.total(), seen.rows());
}

}  // namespace

int bench_serve(const bench_serve_options& o) {
  const auto complain = [](const std::string& what) {
    report("bench serve: {}", what);
    return exit_bad_input;
  };
  if (!(o.rate > 0) || !(o.duration_s > 0) || !(o.slo_ms > 0))
    return complain("--rate, --duration and --slo-ms must be positive");
  if (make_batching(o.batching, "window", {}) == nullptr)
    return complain(
        fmt::format("unknown batching '{}'; known: {}", o.batching, fmt::join(batchings().names(), ", ")));
  if (is_missing(o.model_file))
    return complain(fmt::format("there is no file {}; give one with --model-file", o.model_file));
  try {
    choose_engine({.name = o.model_file, .path = o.model_file});
  } catch (const model_error& e) {
    return complain(e.what());
  }
  try {
    measure(o);
    return exit_done;
  } catch (const std::exception& e) {
    report("bench serve: {}", e.what());
    return exit_failed;
  }
}

}  // namespace troupe
