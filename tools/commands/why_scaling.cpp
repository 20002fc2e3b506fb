#include "tools/commands/why_scaling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "messages/common/json_text.hpp"
#include "messages/wire/json.hpp"
#include "tools/client/console_client.hpp"
#include "tools/client/leading_pool.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

int stop_with(int code, const std::string& what) {
  report("troupe: {}", what);
  return code;
}

nlohmann::json decision_document(const scaling_decision& d) {
  auto doc = to_json(d);
  doc.erase("age");
  doc["age_s"] = to_seconds(d.age);
  return doc;
}

/// "3", or "1 + 2" if one prefills and two decode.
std::string number_of(uint32_t instances, uint32_t prefill) {
  return prefill > 0 ? fmt::format("{} + {}", prefill, instances - prefill) : std::to_string(instances);
}

}  // namespace

std::string decision_text(const scaling_decision& d) {
  auto out = fmt::format("{:.1f} s ago  {}  {} -> {}  {}: the load needs {} to {}{}\n", to_seconds(d.age),
                         d.model, number_of(d.from, d.from_prefill), number_of(d.to, d.to_prefill), d.reason,
                         d.min, d.max, d.applied ? "" : "; advice only");
  out += fmt::format("  {:.0f} tokens/s arrive, {} tokens wait\n", d.arriving_per_s, d.waiting_tokens);
  for (const auto& r : d.resources)
    out += r.of_instance > 0
               ? fmt::format("  {:<9} {:.0f}, an instance has {:.0f}; at {} to {} of it: {} to {}\n",
                             r.resource, r.demand, r.of_instance, r.low, r.high, r.min, r.max)
               : fmt::format("  {:<9} {:.0f}, an instance is not measured yet\n", r.resource, r.demand);
  for (const auto& c : d.plan.chains) out += fmt::format("  chain     {}\n", fmt::join(c.nodes, " -> "));
  for (const auto& n : d.plan.reads) out += fmt::format("  reads     {} the checkpoint\n", n);
  for (const auto& s : d.plan.starts)
    out += fmt::format("  starts    {}  {:.3f} s\n", instance_name(d.model, s.engine, s.node), s.predicted_s);
  for (const auto e : d.plan.stops) out += fmt::format("  stops     engine {}\n", e);
  return out;
}

int why_scaling(const cluster_spec& cluster, const why_scaling_options& o) {
  const auto loops = [](const llm_spec& m) { return m.loop.mode != autoscale_mode::off; };
  if (std::ranges::none_of(cluster.llms, loops))
    return stop_with(exit_bad_input,
                     "no language model has a scaling loop; give an [[llm]] an [llm.scaling]");
  const auto named = [&](const llm_spec& m) { return m.name == o.model; };
  if (!o.model.empty() && std::ranges::none_of(cluster.llms, named))
    return stop_with(exit_bad_input, fmt::format("the cluster file has no [[llm]] '{}'", o.model));
  console_client consoles(cluster);
  std::vector<scaling_decision> all;
  bool answered = false;
  for (const auto node : leader_candidates(cluster)) {  // former leaders remember theirs
    const auto said =
        consoles.order(node, "ask", fmt::format("scale_planner@{}", node_name(cluster, node)),
                       explain_scaling::type_name, to_json(explain_scaling{o.decisions, o.model}));
    if (!said.ok) continue;
    answered = true;
    for (auto& d : from_json<scaling_story>(nlohmann::json::parse(said.body)).decisions)
      all.push_back(std::move(d));
  }
  if (!answered) return stop_with(exit_failed, "no scale planner answers; start the cluster with troupe up");
  std::ranges::stable_sort(all, {}, &scaling_decision::age);
  all.resize(std::min<size_t>(all.size(), o.decisions));
  if (o.json) {
    nlohmann::json doc{{"decisions", nlohmann::json::array()}};
    for (const auto& d : all) doc["decisions"].push_back(decision_document(d));
    fmt::print("{}\n", json_text(doc, 2));
    return exit_done;
  }
  for (const auto& d : all) fmt::print("{}", decision_text(d));
  if (all.empty()) fmt::print("no number of instances has been changed or advised yet\n");
  return exit_done;
}

}  // namespace troupe
