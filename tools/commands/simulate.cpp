#include "tools/commands/simulate.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "config/cluster_file.hpp"
#include "config/workload_file.hpp"
#include "messages/common/json_text.hpp"
#include "tools/common/decision_story.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/common/trace_document.hpp"
#include "tools/sim/world.hpp"

namespace troupe {
namespace {

template <class Reading>
bool report_problems(const Reading& r) {
  for (const auto& p : r.problems) report("{}", to_string(p));
  return !r.ok();
}

/// True if every model's latency is known; simulated devices cannot measure.
bool latencies_known(const simulate_options& options, const cluster_spec& cluster,
                     const workload_spec& workload) {
  bool known = true;
  for (const auto& load : workload.models) {
    if (load.model.value >= cluster.models.size()) continue;  // a [[deploy]] has its own
    const auto& m = cluster.models[load.model.value];
    if (load.latency != latency_model{} || m.latency != latency_model{}) continue;
    known = false;
    report(
        "{}: model '{}': its profile is measured when a worker starts, which a simulation cannot do; give it "
        "alpha_ms "
        "and beta_ms in a [[model]] of the workload",
        options.workload_file, m.name);
  }
  return known;
}

std::string in_words(int32_t advice) {
  if (advice == 0) return "the load needs this number";
  return fmt::format("the load needs {} {}", std::abs(advice), advice > 0 ? "more" : "fewer");
}

/// The metrics of one model.
struct model_row {
  std::string name;
  uint64_t offered, finished, dropped, failed, refused, lost_with_gateway;
  double goodput_rps, p50_ms, p99_ms, mean_batch, gpu_busy;
  uint64_t first_dropped;  ///< its id; 0: none was
};

model_row row_of(const cluster_spec& cluster, const sim::world_result& r, size_t i) {
  using sim::client_outcome;
  const auto& m = r.models[i];
  const auto& d = r.devices[i];
  const double seconds = to_seconds(r.measured);
  return {r.names[i],
          m.offered,
          m.of(client_outcome::finished),
          m.of(client_outcome::dropped),
          m.of(client_outcome::failed),
          m.of(client_outcome::refused),
          m.of(client_outcome::lost_with_gateway),
          static_cast<double>(m.in_slo) / seconds,
          to_ms(m.latency.quantile(0.5)),
          to_ms(m.latency.quantile(0.99)),
          d.batches == 0 ? 0 : static_cast<double>(d.rows) / static_cast<double>(d.batches),
          to_seconds(d.busy) / (seconds * static_cast<double>(cluster.slots.size())),
          m.first_dropped.value};
}

void print_json(const std::vector<model_row>& rows, const sim::world_result& r, uint64_t seed) {
  nlohmann::ordered_json document;
  document["seed"] = seed;
  auto& models = document["models"] = nlohmann::ordered_json::object();
  for (const auto& x : rows)
    models[x.name] = {
        {"offered", x.offered},         {"finished", x.finished}, {"dropped", x.dropped},
        {"failed", x.failed},           {"refused", x.refused},   {"lost_with_gateway", x.lost_with_gateway},
        {"goodput_rps", x.goodput_rps}, {"p50_ms", x.p50_ms},     {"p99_ms", x.p99_ms},
        {"mean_batch", x.mean_batch},   {"gpu_busy", x.gpu_busy}, {"first_dropped", x.first_dropped}};
  auto& faults = document["faults"] = nlohmann::ordered_json::object();
  for (size_t k = 0; k < fault_kind_count; ++k)
    if (r.faults[k] > 0)
      faults[std::string(to_string(static_cast<fault_kind>(k)))] = {{"injected", r.faults[k]},
                                                                    {"requests_hit", r.hits[k]}};
  auto& broken = document["violations"] = nlohmann::ordered_json::array();
  for (const auto& v : r.violations)
    broken.push_back({{"at_s", to_seconds(v.at)}, {"invariant", v.check}, {"what", v.what}});
  if (!r.scale.empty())
    document["autoscale"] = {{"gpus", r.scale.back().gpus}, {"advice", r.scale.back().advice}};
  document["ledger_balanced"] = r.ledger_balanced;
  document["trace_hash"] = fmt::format("{:016x}", r.trace_hash);
  print_document(json_text(document, 2));
}

void print_table(const std::vector<model_row>& rows, const sim::world_result& r, uint64_t seed) {
  fmt::print("{:<20} {:>9} {:>9} {:>8} {:>7} {:>9} {:>9} {:>9} {:>7} {:>7}\n", "model", "offered", "finished",
             "dropped", "failed", "goodput/s", "p50 ms", "p99 ms", "batch", "busy");
  for (const auto& x : rows)
    fmt::print("{:<20} {:>9} {:>9} {:>8} {:>7} {:>9.1f} {:>9.2f} {:>9.2f} {:>7.1f} {:>6.1f}%\n", x.name,
               x.offered, x.finished, x.dropped, x.failed + x.refused + x.lost_with_gateway, x.goodput_rps,
               x.p50_ms, x.p99_ms, x.mean_batch, x.gpu_busy * 100);
  for (const auto& x : rows)
    if (x.first_dropped != 0)
      fmt::print("{}: the first dropped request is {}; --why {} explains it\n", x.name, x.first_dropped,
                 x.first_dropped);
  for (size_t k = 0; k < fault_kind_count; ++k)
    if (r.faults[k] > 0)
      fmt::print("{} {}: hit {} requests in flight\n", r.faults[k], to_string(static_cast<fault_kind>(k)),
                 r.hits[k]);
  if (!r.scale.empty())
    fmt::print("GPUs in service at the end: {}; {}\n", r.scale.back().gpus, in_words(r.scale.back().advice));
  fmt::print("seed {}, trace {:016x}, ledger {}\n", seed, r.trace_hash,
             r.ledger_balanced ? "balanced" : "NOT BALANCED");
}

}  // namespace

int simulate(const simulate_options& options) {
  const auto cluster = read_cluster(options.cluster_file);
  if (report_problems(cluster)) return exit_bad_input;
  const auto workload = read_workload(options.workload_file, cluster.spec);
  if (report_problems(workload)) return exit_bad_input;
  if (!latencies_known(options, cluster.spec, workload.spec)) return exit_bad_input;

  spdlog::set_level(spdlog::level::off);  // nodes report the faults that the workload injects
  const auto seed = options.seed.value_or(workload.spec.seed);
  sim::world world(cluster.spec, workload.spec,
                   {.seed = seed, .why = request_id{options.why}, .record = !options.trace_file.empty()});
  const auto result = world.run();

  std::vector<model_row> rows;
  for (size_t i = 0; i < result.models.size(); ++i) rows.push_back(row_of(cluster.spec, result, i));
  if (!options.trace_file.empty()) write_trace(options.trace_file, cluster.spec, result.records);
  if (options.why == 0) {
    options.json ? print_json(rows, result, seed) : print_table(rows, result, seed);
  } else if (result.story) {
    const auto document = story_document(*result.story, cluster.spec);
    if (options.json)
      print_document(json_text(document, 2));
    else
      std::cout << story_text(document);
  } else {
    report("no queue had request {}, or its scheduler has failed since", options.why);
  }
  for (const auto& v : result.violations)
    report("seed {}, at {:.6f} s: {}: {}", seed, to_seconds(v.at), v.check, v.what);
  const bool explained = options.why == 0 || result.story;
  return result.violations.empty() && explained ? exit_done : exit_failed;
}

}  // namespace troupe
