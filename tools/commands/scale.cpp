#include "tools/commands/scale.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "messages/commands/commands.hpp"
#include "messages/common/json_text.hpp"
#include "messages/wire/json.hpp"
#include "tools/client/leading_pool.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

int fail(bool json, int code, const std::string& why) {
  if (json)
    fmt::print("{}\n", json_text(nlohmann::json{{"ok", false}, {"error", why}}));
  else
    report("troupe: {}", why);
  return code;
}

/// Bytes of the model that came from peers between two looks.
uint64_t pulled_bytes(const parameter_pool_state& before, const parameter_pool_state& now,
                      const std::string& model) {
  uint64_t out = 0;
  for (const auto& c : now.copies) {
    if (c.model != model) continue;
    const auto was = std::ranges::find_if(
        before.copies, [&](const copy_state& b) { return b.model == model && b.node == c.node; });
    const auto had = was == before.copies.end() ? 0 : was->pulled;
    out += c.pulled > had ? c.pulled - had : 0;
  }
  return out;
}

/// Names the nodes of chains by their instances: one that will start, or one that has the weights; a node
/// with weights and without an instance by its own name.
nlohmann::json chains_of(const scaling_plan& plan, const parameter_pool_state& state,
                         const std::string& model) {
  std::map<std::string, std::string> names;
  for (const auto& i : state.instances)
    if (i.model == model && i.stage != "idle" && i.stage != "away")
      names.try_emplace(i.node, instance_name(model, i.engine, i.node));
  for (const auto& s : plan.starts) names.try_emplace(s.node, instance_name(model, s.engine, s.node));
  auto out = nlohmann::json::array();
  for (const auto& c : plan.chains) {
    auto chain = nlohmann::json::array();
    for (const auto& n : c.nodes) chain.push_back(names.contains(n) ? names.at(n) : n);
    out.push_back(std::move(chain));
  }
  return out;
}

struct progress {
  uint32_t serving = 0, others = 0;  ///< others: loading or draining
  uint32_t prefill = 0;              ///< of those that serve
  bool copying = false;              ///< inventories do not show all weights of instances yet
};
progress progress_of(const parameter_pool_state& s, const std::string& model) {
  progress p;
  for (const auto& i : s.instances)
    if (i.model == model) {
      p.serving += i.stage == "serving";
      p.prefill += i.stage == "serving" && i.phase == "prefill";
      p.others += i.stage == "loading" || i.stage == "draining";
    }
  for (const auto& c : s.copies) p.copying = p.copying || (c.model == model && !c.from.empty());
  return p;
}

/// The scaling loop has not ordered another number since.
bool still_wanted(const parameter_pool_state& s, const scale_options& options) {
  const auto known = std::ranges::find(s.wanted, options.model, &wanted_instances::model);
  return known == s.wanted.end() ||
         (known->instances == options.instances && known->prefill == options.prefill);
}

std::optional<std::string> wrong_phases(const llm_spec& m, const scale_options& o) {
  if (!m.disaggregated() && o.prefill > 0)
    return fmt::format("'{}' is not disaggregated; give --instances in place of --prefill and --decode",
                       m.name);
  if (m.disaggregated() && o.instances > 0 && (o.prefill == 0 || o.prefill >= o.instances))
    return fmt::format("'{}' is disaggregated; give --prefill and --decode, at least one each", m.name);
  return {};
}

void print_scaling(const nlohmann::json& doc) {
  for (const auto& c : doc["chains"])
    fmt::print("chain   {}\n", fmt::join(c.get<std::vector<std::string>>(), " -> "));
  for (const auto& n : doc["reads"]) fmt::print("reads   {} the checkpoint\n", n.get<std::string>());
  for (const auto& [name, s] : doc["predicted_s"].items())
    fmt::print("starts  {:<28} {:.3f} s\n", name, s.get<double>());
  for (const auto& name : doc["stops"]) fmt::print("stops   {}\n", name.get<std::string>());
}

}  // namespace

int scale_instances(const cluster_spec& cluster, const scale_options& options) {
  const auto file = std::ranges::find(cluster.llms, options.model, &llm_spec::name);
  if (file == cluster.llms.end())
    return fail(options.json, exit_bad_input,
                fmt::format("the cluster file has no [[llm]] '{}'", options.model));
  if (!file->scales)
    return fail(options.json, exit_bad_input,
                fmt::format("'{}' does not scale: give its [[llm]] the key instances", options.model));
  const auto places = engines_of(cluster, llm_id{static_cast<uint32_t>(file - cluster.llms.begin())}).size();
  if (options.instances > places)
    return fail(
        options.json, exit_bad_input,
        fmt::format("'{}' has {} places, too few for {} instances: add nodes to its [[llm]], or raise "
                    "its engines_per_node",
                    options.model, places, options.instances));
  if (options.instances < file->min_instances || options.instances > file->max_instances)
    return fail(options.json, exit_bad_input,
                fmt::format("'{}' has {} to {} instances by min_instances and max_instances, not {}; change "
                            "these keys of its [[llm]]",
                            options.model, file->min_instances, file->max_instances, options.instances));
  if (auto wrong = wrong_phases(*file, options)) return fail(options.json, exit_bad_input, *wrong);
  const machine_clock time;
  console_client consoles(cluster);
  leading_pool pool(cluster, consoles);
  const auto before = pool.state();
  if (!before) return fail(options.json, exit_failed, "no leader answers; start the cluster with troupe up");
  const auto began = time.now();
  const auto said =
      pool.order(scale_model{options.model, options.instances, options.dry_run, options.prefill});
  if (!said.ok) return fail(options.json, exit_failed, said.body);
  const auto plan = from_json<scaling_plan>(nlohmann::json::parse(said.body));
  nlohmann::json doc{{"ok", true}, {"model", options.model}, {"instances", options.instances}};
  if (options.prefill > 0)
    doc["prefill"] = options.prefill, doc["decode"] = options.instances - options.prefill;
  doc["chains"] = chains_of(plan, *before, options.model);
  doc["reads"] = plan.reads;
  doc["predicted_s"] = nlohmann::json::object();
  for (const auto& s : plan.starts)
    doc["predicted_s"][instance_name(options.model, s.engine, s.node)] = s.predicted_s;
  doc["stops"] = nlohmann::json::array();
  for (const auto e : plan.stops)
    doc["stops"].push_back(instance_name(options.model, e, node_name(cluster, cluster.engines[e].node)));

  bool reached = options.dry_run || options.wait_s <= 0;
  const auto give_up = began + from_ms(1e3 * options.wait_s);
  while (!reached) {
    const auto now = pool.state();
    if (now && file->loop.mode == autoscale_mode::apply && !still_wanted(*now, options)) break;
    if (now) {
      const auto p = progress_of(*now, options.model);
      reached = p.serving == options.instances && p.others == 0 && !p.copying &&
                (options.prefill == 0 || p.prefill == options.prefill);
      doc["took_s"] = to_seconds(time.now() - began);
      doc["pulled_bytes"] = pulled_bytes(*before, *now, options.model);
    }
    if (!reached && time.now() > give_up) break;
    if (!reached) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  doc["ok"] = reached;
  if (options.json) {
    fmt::print("{}\n", json_text(doc));
  } else {
    print_scaling(doc);
    if (!reached)
      report(
          "troupe: {} does not have {} instances after {:.1f} s; `troupe parameters` shows what is missing{}",
          options.model, options.instances, to_seconds(time.now() - began),
          file->loop.mode == autoscale_mode::apply
              ? ", and `troupe why --scale 1` what its scaling loop ordered"
              : "");
    else if (doc.contains("took_s"))
      fmt::print("{} has {} instances after {:.3f} s, {} bytes pulled\n", options.model, options.instances,
                 doc["took_s"].get<double>(), doc["pulled_bytes"].get<uint64_t>());
  }
  return reached ? exit_done : exit_failed;
}

int list_parameters(const cluster_spec& cluster, const std::string& model, bool json) {
  console_client consoles(cluster);
  leading_pool pool(cluster, consoles);
  const auto state = pool.state();
  if (!state)
    return fail(json, exit_failed,
                moves_weights(cluster)
                    ? "no leader answers; start the cluster with troupe up"
                    : "no weights of this cluster move: give an [[llm]] the key instances, or "
                      "workers parameter_mb");
  const auto has_copies = std::ranges::count(state->copies, model, &copy_state::model) > 0;
  if (!model.empty() && !has_copies && std::ranges::count(cluster.llms, model, &llm_spec::name) == 0)
    return fail(
        json, exit_bad_input,
        fmt::format("the cluster file has no [[llm]] '{}', and no node has files of a model of that name "
                    "in memory",
                    model));
  nlohmann::json doc{{"instances", instances_of(*state, model)}, {"copies", nlohmann::json::array()}};
  for (const auto& c : state->copies)
    if (model.empty() || c.model == model) doc["copies"].push_back(to_json(c));
  doc["links"] = nlohmann::json::array();
  for (const auto& l : state->links) doc["links"].push_back(to_json(l));
  doc["disks"] = nlohmann::json::array();
  for (const auto& d : state->disks) doc["disks"].push_back(to_json(d));
  if (json) {
    fmt::print("{}\n", json_text(doc));
    return exit_done;
  }
  fmt::print("{:<28} {:<10} {}\n", "instance", "stage", "phase");
  for (const auto& i : doc["instances"])
    fmt::print("{:<28} {:<10} {}\n", i["name"].get<std::string>(), i["stage"].get<std::string>(),
               i["phase"].get<std::string>());
  fmt::print("\n{:<16} {:<12} {:>14} {:>12} {:<12} {}\n", "weights of", "node", "chunks", "bytes", "from",
             "problem");
  for (const auto& c : state->copies)
    if (model.empty() || c.model == model)
      fmt::print("{:<16} {:<12} {:>14} {:>12} {:<12} {}\n", c.model, c.node,
                 fmt::format("{} of {}", c.ready, c.chunks), c.bytes, c.from, c.problem);
  if (!state->links.empty() || !state->disks.empty())
    fmt::print("\n{:<16} {:<12} {:>14}\n", "measured from", "to", "Gbit/s");
  for (const auto& l : state->links) fmt::print("{:<16} {:<12} {:>14.3f}\n", l.from, l.to, l.gbit_per_s);
  for (const auto& d : state->disks) fmt::print("{:<16} {:<12} {:>14.3f}\n", "disk", d.node, d.gbit_per_s);
  return exit_done;
}

}  // namespace troupe
