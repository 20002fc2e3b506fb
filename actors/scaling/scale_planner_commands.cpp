// The commands and metrics of scale_planner.
#include <algorithm>
#include <array>

#include "actors/scaling/scale_planner.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {

std::vector<resource_state> scale_planner::resources(const scaled& m, time_point now) const {
  std::vector<resource_state> out;
  const auto loads = m.monitor.loads(now);
  for (size_t i = 0; i < loads.size(); ++i) {
    const auto& l = loads[i];
    const auto needed = instances_for(l).value_or(instance_range{});
    out.push_back({std::string(to_string(static_cast<instance_resource>(i))), l.demand, l.of_instance,
                   l.bounds.low, l.bounds.high, needed.min, needed.max});
  }
  return out;
}

scale_planner_state scale_planner::describe(time_point now) const {
  constexpr std::array modes{"off", "advise", "apply"};
  scale_planner_state s;
  s.leads = leads();
  for (const auto& m : models_)
    s.models.push_back({m.spec.name, modes[static_cast<size_t>(m.spec.loop.mode)], m.instances.ordered,
                        m.instances.starting, m.wanted.value_or(0), m.instances.wants_more,
                        m.reason ? std::string(to_string(*m.reason)) : "", m.monitor.arriving_per_s(),
                        m.monitor.waiting_tokens(), resources(m, now), m.prefill});
  return s;
}

scaling_story scale_planner::explain(const explain_scaling& asked, time_point now) const {
  scaling_story out;
  for (auto i = decisions_.size(); i-- > 0 && out.decisions.size() < asked.limit;) {
    const auto& d = decisions_[i];
    if (!asked.model.empty() && asked.model != d.what.model) continue;
    out.decisions.push_back(d.what);
    out.decisions.back().age = now - d.at;
  }
  return out;
}

command_reply scale_planner::on_command(const command& c, time_point now) {
  return run_command(scale_planner_commands{}, c,
                     overloaded{[&](const get_state&) { return describe(now); },
                                [&](const explain_scaling& e) { return explain(e, now); }});
}

void scale_planner::report(std::vector<metric>& out) const {
  using enum metric::kind;
  for (const auto& m : models_) {
    if (!m.wanted) continue;
    const auto add = [&](const char* name, double value, metric::kind k) {
      out.push_back({name, {{"model", m.spec.name}}, value, k});
    };
    add("troupe_scaling_wanted", *m.wanted, gauge);
    add("troupe_scaling_wants_more", m.instances.wants_more, gauge);
    add("troupe_scaling_arriving_tokens_per_second", m.monitor.arriving_per_s(), gauge);
    add("troupe_scaling_waiting_tokens", static_cast<double>(m.monitor.waiting_tokens()), gauge);
    const auto changes = [&](const char* direction, uint64_t n) {
      out.push_back({"troupe_scaling_decisions_total",
                     {{"model", m.spec.name}, {"direction", direction}},
                     static_cast<double>(n),
                     counter});
    };
    changes("more", m.more);
    changes("fewer", m.fewer);
  }
}

}  // namespace troupe
