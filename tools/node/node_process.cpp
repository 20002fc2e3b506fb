#include "tools/node/node_process.hpp"

#include <utility>

#include "config/cluster_file.hpp"
#include "tools/node/decided_engines.hpp"

namespace troupe {
namespace {

/// Reads the model definition of a command; it is checked like a [[model]] table of the cluster file. Its
/// engine is decided here, for all nodes.
deployer::model_reading read_model(const std::string& text, const cluster_spec& cluster) {
  auto reading = read_model_text(text, "definition", cluster, cluster.directory);
  deployer::model_reading out;
  for (const auto& p : reading.problems) out.problem += (out.problem.empty() ? "" : "; ") + p.text;
  out.definition = std::move(reading.spec);
  if (out.problem.empty()) out.problem = decide_engine(out.definition, cluster);
  return out;
}

}  // namespace

on_broken node_process::broken() {
  return [this](std::string why) { events_.say(node_events::kind::threw, std::move(why)); };
}

void node_process::on_ready(bool yes) {
  ready_ = yes;
  if (yes) events_.say(node_events::kind::ready);
}

process_part node_process::part() {
  using enum node_events::kind;
  return {
      .on_ready = [this](bool yes) { on_ready(yes); },
      .on_drained = [this] { events_.say(drained); },
      .on_refused = [this](std::string why) { events_.say(refused, std::move(why)); },
      .on_unusable = [this](std::string why,
                            bool transient) { events_.say(transient ? failed : unusable, std::move(why)); },
      .broken = broken(),
      .begin_drain = [this] { events_.say(stop); },
      .read_model = [this](const std::string& text) { return read_model(text, cluster_); }};
}

}  // namespace troupe
