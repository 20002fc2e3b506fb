#include "tools/commands/cluster_trace.hpp"

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "actors/operator/actor_name.hpp"
#include "messages/common/json_text.hpp"
#include "messages/wire/json.hpp"
#include "messages/wire/shift_times.hpp"
#include "tools/client/console_client.hpp"
#include "tools/commands/screen.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/common/trace_document.hpp"

namespace troupe {
namespace {

class recording {
 public:
  recording(const cluster_spec& cluster, uint32_t sample) : cluster_(cluster), consoles_(cluster) {
    for (uint32_t i = 0; i < cluster.nodes.size(); ++i)
      if (cluster.nodes[i].has(node_role::gateway)) add({node_id{i}, {}, role::gateway, 0}, sample);
    for (uint32_t i = 0; i < cluster.slots.size(); ++i)
      add({cluster.slots[i].node, {}, role::gpu_worker, i}, sample);
    if (recorded_.empty()) throw std::runtime_error("nothing to record: " + problem_);
  }

  /// Takes the records since the last call, with all times converted to the first node's clock.
  void collect() {
    const auto ahead = offsets();
    for (const auto& actor : recorded_) {
      const auto by = ahead.contains(actor.node) ? -ahead.at(actor.node) : duration{};
      for (bool more = true; more;) {
        const auto r = ask(actor, "take_trace", {{"limit", 500}});
        if (!r.ok) break;
        const auto body = nlohmann::json::parse(r.body);
        if (actor.kind == role::gateway) {
          auto taken = from_json<traced_requests>(body);
          for (auto& t : taken.requests) records_.requests.push_back({actor.node, std::move(t)});
          for (size_t i = records_.requests.size() - taken.requests.size(); i < records_.requests.size(); ++i)
            shift_times(records_.requests[i].what, by);
          more = taken.more;
          records_.lost += taken.lost;
        } else {
          auto taken = from_json<traced_batches>(body);
          for (auto& t : taken.batches) {
            shift_times(t, by);
            records_.batches.push_back({actor.node, std::move(t)});
          }
          more = taken.more;
          records_.lost += taken.lost;
        }
      }
    }
  }

  void stop() {
    for (const auto& actor : recorded_) ask(actor, "stop_trace", nlohmann::json::object());
  }

  const trace_records& records() const { return records_; }

 private:
  command_reply ask(const address& actor, const char* type, const nlohmann::json& fields) {
    return consoles_.order(actor.node, "ask", actor_name(cluster_, actor), type, fields);
  }

  void add(const address& actor, uint32_t sample) {
    const auto r = ask(actor, "start_trace", {{"capacity", 16384}, {"sample", sample}});
    if (r.ok)
      recorded_.push_back(actor);
    else
      problem_ = r.body;
  }

  /// The lead of each node's clock over that of the first recorded node.
  std::map<node_id, duration> offsets() {
    std::map<node_id, duration> out;
    const auto r = ask({recorded_.front().node, {}, role::node, 0}, "get_state", nlohmann::json::object());
    if (!r.ok) return out;
    for (const auto& p : from_json<node_state>(nlohmann::json::parse(r.body)).peers)
      for (uint32_t i = 0; i < cluster_.nodes.size(); ++i)
        if (cluster_.nodes[i].name == p.node) out[node_id{i}] = p.clock_offset;
    return out;
  }

  const cluster_spec& cluster_;
  console_client consoles_;
  std::vector<address> recorded_;
  std::string problem_ = "no node answers";
  trace_records records_;
};

}  // namespace

int cluster_trace(const cluster_spec& cluster, const cluster_trace_options& options) {
  if (options.sample == 0 || options.length <= duration{}) {
    report("troupe: --sample and --seconds must be above 0");
    return exit_bad_input;
  }
  const machine_clock time;
  recording all(cluster, options.sample);
  screen terminal(false);  // Ctrl-C ends the recording, not the program
  const auto until = time.now() + options.length;
  const auto enough = [&] {
    return options.requests > 0 && all.records().requests.size() >= options.requests;
  };
  for (bool go_on = true; go_on && time.now() < until && !enough();) {
    go_on = terminal.wait(std::min(duration{250ms}, until - time.now()));
    all.collect();
  }
  all.stop();
  auto records = all.records();
  if (enough()) records.requests.resize(options.requests);
  write_trace(options.file, cluster, records);
  if (options.json)
    fmt::print("{}\n", json_text(nlohmann::json{{"file", options.file},
                                                {"requests", records.requests.size()},
                                                {"batches", records.batches.size()},
                                                {"lost", records.lost}},
                                 2));
  else
    fmt::print("{}: {} requests, {} batches{}; open it at ui.perfetto.dev\n", options.file,
               records.requests.size(), records.batches.size(),
               records.lost > 0 ? fmt::format(", {} lost", records.lost) : "");
  return exit_done;
}

}  // namespace troupe
