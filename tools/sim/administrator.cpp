#include "tools/sim/administrator.hpp"

#include <caf/all.hpp>

#include "actors/node_runtime.hpp"

namespace troupe::sim {

void administrator::start(duration until) {
  start_ = around_.time.now();
  until_ = until;
  if (around_.workload.changes.empty()) return;
  around_.time.at(start_ + around_.workload.changes.front().at, sim_event::fault, [this] { work(); });
}

void administrator::stop() {
  for (const auto& a : asking_) caf::anon_send_exit(a, caf::exit_reason::kill);
}

/// Tells the deployer of a living node, which passes it on; again and again until it is accepted.
void administrator::work() {
  if (next_ == around_.workload.changes.size()) return;
  auto& time = around_.time;
  const auto& c = around_.workload.changes[next_];
  if (const auto due = start_ + c.at; time.now() < due)
    return time.at(due, sim_event::fault, [this] { work(); });
  if (time.now() > until_) return;
  time.at(time.now() + 100ms, sim_event::fault, [this] { work(); });
  std::vector<node_id> alive;
  for (uint32_t i = 0; i < around_.cluster.nodes.size(); ++i)
    if (around_.runtime_of(node_id{i}) != nullptr && !time.frozen(node_id{i})) alive.push_back(node_id{i});
  if (alive.empty()) return;
  const auto to = alive[around_.chance.below(alive.size())];
  switch (c.what) {
    case change_event::kind::deploy: return tell(to, deploy{1, c.model.name, {}});
    case change_event::kind::redeploy: return tell(to, redeploy{1, c.model.name, {}});
    case change_event::kind::undeploy: return tell(to, undeploy{1, c.model.name, {}});
    case change_event::kind::move: return tell(to, move_model{1, c.model.name, c.domain, {}});
    case change_event::kind::drain: return tell(to, drain_node{1, around_.cluster.nodes[c.node.value].name});
  }
}

template <class Command>
void administrator::tell(node_id to, Command command) {
  const auto deployer = around_.runtime_of(to)->deployer_actor();
  const auto ask = [this, deployer, command, number = next_](caf::event_based_actor* self) {
    self->request(deployer, caf::infinite, command)
        .then(
            [this, number](const change_reply& r) {
              if (r.ok && number == next_) accepted();
            },
            [](const caf::error&) {});
  };
  asking_.push_back(around_.system.spawn(ask));
}

void administrator::accepted() {
  const auto& c = around_.workload.changes[next_++];
  around_.tracing.add(around_.time.now());
  if (c.what != change_event::kind::drain)
    around_.deployments.wanted(c.model.name, c.what != change_event::kind::undeploy);
}

}  // namespace troupe::sim
