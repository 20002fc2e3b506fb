// Commands (messages/cluster/commands.hpp) and metrics of a node.
#include <caf/all.hpp>

#include "actors/cluster/node.hpp"
#include "messages/cluster/commands.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {

command_reply node::on_command(const command& c) const {
  return run_command(node_commands{}, c, [&](const get_state&) {
    const auto& nodes = env_.cluster.nodes;
    node_state s;
    s.node = node_name(env_.cluster, env_.self);
    s.incarnation = incarnation_;
    s.ready = ready_;
    s.draining = drain_.draining();
    s.now = env_.time.now();
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      if (node_id{i} == env_.self) continue;
      const auto& p = peers_.at(node_id{i});
      peer_state line;
      line.node = nodes[i].name;
      line.state = p.stage == peer_stage::unknown      ? "unknown"
                   : p.stage == peer_stage::connecting ? "connecting"
                   : p.leaving                         ? "leaving"
                                                       : "up";
      line.incarnation = p.incarnation;
      line.clock_offset = env_.lane.clock_offset_of(node_id{i});
      line.clock_error = env_.lane.clock_error(node_id{i});
      s.peers.push_back(std::move(line));
    }
    s.scheduler = node_name(env_.cluster, scheduler_.node());
    s.term = scheduler_.election().known().term;
    s.takeovers = scheduler_.election().takeovers();
    return s;
  });
}

group_report node::report() const {
  group_report r;
  const address me{env_.self, incarnation_, role::node, 0};
  const char* state = drain_.draining() ? "draining" : ready_ ? "ready" : "waiting";
  const auto waiting = self_->mailbox().size();
  r.actors.push_back(me);
  r.statuses.push_back({me, state, messages_, waiting, waiting});
  if (!scheduler_.elected()) return r;
  using enum metric::kind;
  const auto& election = scheduler_.election();
  const auto& known = election.known();
  if (known.term != term_id{})
    r.metrics.push_back({"troupe_scheduler_term",
                         {{"scheduler", node_name(env_.cluster, known.scheduler)}},
                         static_cast<double>(known.term.value),
                         gauge});
  r.metrics.push_back({"troupe_scheduler_is_leader", {}, election.is_leader() ? 1.0 : 0.0, gauge});
  r.metrics.push_back(
      {"troupe_scheduler_takeovers_total", {}, static_cast<double>(election.takeovers()), counter});
  return r;
}

}  // namespace troupe
