#include "tools/commands/plan_multicast.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "config/multicast_file.hpp"
#include "config/text_file.hpp"
#include "messages/common/json_text.hpp"
#include "policies/scaling/multicast_plan.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

using name_list = std::vector<std::string>;

name_list names_of(const multicast_problem& p, const std::vector<uint32_t>& nodes) {
  name_list out;
  for (const auto n : nodes) out.push_back(p.nodes[n].name);
  return out;
}

name_list names_of(const multicast_problem& p, const multicast_chain& c) {
  auto out = names_of(p, c.targets);
  out.insert(out.begin(), p.nodes[c.source].name);
  return out;
}

double seconds(duration d) { return std::chrono::duration<double>(d).count(); }

void print_plan_json(const multicast_problem& p, const multicast_plan& plan) {
  nlohmann::ordered_json document{{"chains", nlohmann::json::array()}, {"groups", nlohmann::json::array()}};
  for (const auto& c : plan.chains) document["chains"].push_back(names_of(p, c));
  for (const auto& g : plan.groups)
    document["groups"].push_back(
        {{"leader", p.nodes[g.leader].name}, {"followers", names_of(p, g.followers)}});
  document["pruned"] = names_of(p, plan.pruned);
  if (plan.half_rate_source) document["half_rate_source"] = p.nodes[0].name;
  document["finish_s"] = nlohmann::json::object();
  for (uint32_t n = p.sources; n < p.size(); ++n)
    if (plan.finish[n] != duration::max()) document["finish_s"][p.nodes[n].name] = seconds(plan.finish[n]);
  if (const auto none = plan.unreached(); !none.empty()) document["unreached"] = names_of(p, none);
  document["exact"] = plan.exact;
  print_document(json_text(document, 2));
}

void print_plan(const multicast_problem& p, const multicast_plan& plan) {
  for (const auto& c : plan.chains) fmt::print("chain   {}\n", fmt::join(names_of(p, c), " -> "));
  for (const auto& g : plan.groups)
    fmt::print("domain  {} => {}\n", p.nodes[g.leader].name, fmt::join(names_of(p, g.followers), ", "));
  if (!plan.pruned.empty())
    fmt::print("pruned  {}: sources that send serving traffic\n", fmt::join(names_of(p, plan.pruned), ", "));
  if (plan.half_rate_source)
    fmt::print("every source is busy: {} serves at half of its rate\n", p.nodes[0].name);
  for (uint32_t n = p.sources; n < p.size(); ++n)
    if (plan.finish[n] != duration::max())
      fmt::print("{:<24} {:.6f} s\n", p.nodes[n].name, seconds(plan.finish[n]));
  fmt::print("{}\n", plan.exact ? "no plan finishes earlier" : "found by a greedy search");
}

}  // namespace

int plan_multicast_file(const std::string& file, bool json) {
  const auto text = read_text_file(file);
  if (!text.error.empty()) {
    report("troupe: {} {}", file, text.error);
    return exit_bad_input;
  }
  try {
    const auto problem = read_multicast(text.content);
    const auto plan = plan_multicast(problem);
    const auto print = json ? print_plan_json : print_plan;
    print(problem, plan);
    const auto none = plan.unreached();
    if (none.empty()) return exit_done;
    report("troupe: no chain of the links in {} reaches {}", file, fmt::join(names_of(problem, none), ", "));
    return exit_failed;
  } catch (const multicast_file_error& e) {
    report("troupe: {}: {}", file, e.what());
    return exit_bad_input;
  }
}

}  // namespace troupe
