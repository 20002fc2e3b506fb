#include "tools/sim/administrator.hpp"

#include <caf/all.hpp>

#include "actors/node_runtime.hpp"

namespace troupe::sim {

void administrator::start(duration until) {
  start_ = env_.time.now();
  until_ = until;
  if (env_.workload.changes.empty()) return;
  env_.time.at(start_ + env_.workload.changes.front().at, sim_event::fault, [this] { work(); });
}

void administrator::stop() {
  for (const auto& a : asking_) caf::anon_send_exit(a, caf::exit_reason::kill);
}

/// Sends the change to the deployer of a living node, which forwards it; repeats until it is accepted.
void administrator::work() {
  if (next_ == env_.workload.changes.size()) return;
  auto& time = env_.time;
  const auto& c = env_.workload.changes[next_];
  if (const auto due = start_ + c.at; time.now() < due)
    return time.at(due, sim_event::fault, [this] { work(); });
  if (time.now() > until_) return;
  time.at(time.now() + 100ms, sim_event::fault, [this] { work(); });
  std::vector<node_id> alive;
  for (uint32_t i = 0; i < env_.cluster.nodes.size(); ++i)
    if (env_.runtime_of(node_id{i}) != nullptr && !time.frozen(node_id{i})) alive.push_back(node_id{i});
  if (alive.empty()) return;
  const auto to = alive[env_.chance.below(alive.size())];
  switch (c.what) {
    case change_event::kind::deploy: return send(to, deploy{1, c.model.name, {}});
    case change_event::kind::redeploy: return send(to, redeploy{1, c.model.name, {}});
    case change_event::kind::undeploy: return send(to, undeploy{1, c.model.name, {}});
    case change_event::kind::move: return send(to, move_model{1, c.model.name, c.domain, {}});
    case change_event::kind::drain: return send(to, drain_node{1, node_name(env_.cluster, c.node)});
  }
}

template <class Command>
void administrator::send(node_id to, Command command) {
  const auto deployer = env_.runtime_of(to)->deployer_actor();
  const auto ask = [this, deployer, command, number = next_](caf::event_based_actor* self) {
    self->request(deployer, caf::infinite, command)
        .then(
            [this, number](const change_reply& r) {
              if (r.ok && number == next_) accepted();
            },
            [](const caf::error&) {});
  };
  asking_.push_back(env_.system.spawn(ask));
}

void administrator::accepted() {
  const auto& c = env_.workload.changes[next_++];
  env_.tracing.add(env_.time.now());
  if (c.what != change_event::kind::drain)
    env_.deployments.wanted(c.model.name, c.what != change_event::kind::undeploy);
}

}  // namespace troupe::sim
