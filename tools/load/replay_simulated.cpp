// Replays a trace of generation requests in virtual time.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "config/cluster_file.hpp"
#include "tools/load/client.hpp"
#include "tools/load/replay.hpp"
#include "tools/load/replay_statistics.hpp"
#include "tools/sim/world.hpp"

namespace troupe {
namespace {

cluster_spec cluster_to_simulate(const std::string& file) {
  auto read = read_cluster(file);
  if (!read.ok()) throw load_input_error(to_string(read.problems.front()));
  const auto& llms = read.spec.llms;
  if (llms.size() != 1 || llms[0].device != device_kind::emulated || llms[0].max_positions == 0)
    throw load_input_error(
        file + ": a simulation of sequences needs one [[llm]] with device = \"emulated\" and max_positions");
  return std::move(read.spec);
}

}  // namespace

replay_report replay_simulated(const replay_options& o) {
  const auto cluster = cluster_to_simulate(o.simulate);
  auto trace = read_llm_trace_file(o.file);
  const auto rows = trace.rows.size();
  auto asked = o;
  asked.model = cluster.llms[0].name;
  workload_spec workload;
  workload.llm_trace = rows_to_send(trace, asked);
  workload.length = workload.llm_trace.back().at + 1s;
  spdlog::set_level(spdlog::level::off);
  const auto result =
      sim::world(cluster, workload,
                 {.seed = o.seed, .caf_host_per_actor = false, .drain_at_most = cluster.llms[0].timeout})
          .run();
  for (const auto& v : result.violations)
    throw load_error(fmt::format("the simulation violated '{}': {}", v.check, v.what));
  replay_statistics kept(o, time_point{});
  for (const auto& row : workload.llm_trace) kept.sent(time_point{row.at}, time_point{row.at});
  for (const auto& end : result.traced_generations) {
    const auto& row = workload.llm_trace[end.row];
    completion_times times;
    times.sent = time_point{row.at};
    for (const auto t : end.tokens) times.tokens.push_back(times.sent + t);
    times.ended = times.sent + end.ended;
    times.prompt_tokens = row.prompt_tokens;
    times.ttft_target = row.slo;
    times.output_tokens = times.tokens.size();
    const bool whole = end.how == sim::client_outcome::finished;
    kept.ended(row.adapter.empty() ? asked.model : row.adapter, times,
               whole                                     ? ""
               : end.how == sim::client_outcome::dropped ? std::string(to_string(end.why))
                                                         : "failed",
               times.ended);
  }
  return kept.close(trace, rows);
}

}  // namespace troupe
