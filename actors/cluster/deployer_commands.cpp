// Commands to a deployer: decides them, or passes them on to the deployer that does.
#include <caf/all.hpp>
#include <stdexcept>
#include <utility>

#include "actors/cluster/deployer.hpp"
#include "actors/tensor/queue_policy.hpp"
#include "messages/cluster/find_node.hpp"
#include "policies/cluster/deployment_status.hpp"

namespace troupe {
namespace {

/// The change that a command asks for.
struct asked_change {
  deployment_change what;
  std::string problem;  ///< not empty: the command is refused
};

asked_change read(const deploy& c, const deployer::environment& env) {
  auto model = env.read_model(c.definition);
  if (!model.problem.empty()) return {{}, std::move(model.problem)};
  try {
    make_policy(env.cluster, model.definition);  // fails here rather than on the queue's thread
  } catch (const std::runtime_error& e) {
    return {{}, e.what()};
  }
  return {model_to_deploy{std::move(model.definition)}, {}};
}

asked_change read(const redeploy& c, const deployer::environment&) { return {model_to_redeploy{c.name}, {}}; }

asked_change read(const undeploy& c, const deployer::environment&) { return {model_to_undeploy{c.name}, {}}; }

asked_change read(const move_model& c, const deployer::environment& env) {
  const auto& domains = env.cluster.domains;
  for (uint32_t to = 0; to < domains.size(); ++to)
    if (domains[to].name == c.domain) return {model_to_move{c.name, to}, {}};
  return {{}, no_such_domain(env.cluster, c.domain)};
}

}  // namespace

template <class Command>
void deployer::carry_out(const Command& c, answer reply) {
  if (!decides()) return pass_on(scheduler_, c, std::move(reply));
  auto asked = read(c, env_);
  if (!asked.problem.empty()) return reply(refused_change(std::move(asked.problem)));
  decide({std::move(asked.what), c.wait, std::move(reply)});
}
template void deployer::carry_out(const deploy&, answer);
template void deployer::carry_out(const redeploy&, answer);
template void deployer::carry_out(const undeploy&, answer);
template void deployer::carry_out(const move_model&, answer);

void deployer::carry_out(const drain_node& c, answer reply) {
  const auto to = find_node(env_.cluster, c.node);
  if (!to) return reply(refused_change(no_such_node(env_.cluster, c.node)));
  if (*to != env_.self) return pass_on(*to, c, std::move(reply));
  env_.begin_drain();
  reply({0, true, false, 0, "node '" + c.node + "' drains: it finishes its work and leaves"});
}

template <class Command>
void deployer::pass_on(node_id to, Command c, answer reply) {
  if (!peers_.contains(to))
    return reply(refused_change("node '" + node_name(env_.cluster, to) + "' is not up; try again"));
  if (forwarded_.full()) return reply(refused_change("too many commands wait; try again"));
  c.token = forwarded_.add(to, std::move(reply));
  send(to, std::move(c));
}

/// Now, or once the log is recovered.
void deployer::decide(held_change h) {
  const auto now = env_.time.now();
  if (!recovery_.complete(now)) {
    if (held_.size() >= max_commands) return h.reply(refused_change("too many commands wait; try again"));
    held_.push_back(std::move(h));
    return review();
  }
  const auto d = troupe::decide(h.what, table_, progress_, env_.cluster);
  if (d.line == nullptr) return h.reply(refused_change(d.why));
  const deployment line = *d.line;
  if (d.changed) publish(line);
  auto status = status_of(table_.at(line.model), progress_, env_.cluster);
  if (h.wait <= duration{} || status.complete || !status.ok) return h.reply(std::move(status));
  if (pending_.full()) {
    status.detail += "; too many commands wait for completion already";
    return h.reply(std::move(status));
  }
  pending_.add(line, now + h.wait, std::move(h.reply));
  review();
}

}  // namespace troupe
