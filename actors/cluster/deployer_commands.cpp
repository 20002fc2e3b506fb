// What a deployer does about commands: decides, passes them on, and answers when their wait is over.
#include <algorithm>
#include <caf/all.hpp>
#include <utility>

#include "actors/cluster/deployer.hpp"
#include "actors/tensor/queue_policy.hpp"

namespace troupe {
namespace {

constexpr size_t max_held_commands = 256;

}  // namespace

void deployer::carry_out(const deploy& c, answer reply) {
  if (!decides()) return pass_on(scheduler_, c, std::move(reply));
  auto read = env_.read_model(c.definition);
  if (!read.problem.empty()) return reply(refused(read.problem));
  try {
    make_policy(env_.cluster, read.definition);  // or the queue's thread would find out
  } catch (const std::runtime_error& e) {
    return reply(refused(e.what()));
  }
  const auto bring = [this, m = std::move(read.definition)] {
    auto still = still_leaving(m.name);
    return still.empty() ? table_.deploy(m) : deployment_table::decision{nullptr, false, still};
  };
  decide(bring, c.wait, std::move(reply));
}

void deployer::carry_out(const redeploy& c, answer reply) {
  if (!decides()) return pass_on(scheduler_, c, std::move(reply));
  const auto bring = [this, model = c.name] {
    auto still = still_leaving(model);
    return still.empty() ? table_.redeploy(model) : deployment_table::decision{nullptr, false, still};
  };
  decide(bring, c.wait, std::move(reply));
}

void deployer::carry_out(const undeploy& c, answer reply) {
  if (!decides()) return pass_on(scheduler_, c, std::move(reply));
  decide([this, model = c.name] { return table_.undeploy(model); }, c.wait, std::move(reply));
}

void deployer::carry_out(const move_model& c, answer reply) {
  if (!decides()) return pass_on(scheduler_, c, std::move(reply));
  uint32_t to = 0;
  while (to < env_.cluster.domains.size() && env_.cluster.domains[to].name != c.domain) ++to;
  if (to >= env_.cluster.domains.size())
    return reply(refused("the cluster has no domain '" + c.domain + "'"));
  decide([this, model = c.name, to] { return table_.move(model, to); }, c.wait, std::move(reply));
}

/// What is being let go must be gone before it comes back: its id may be the same.
std::string deployer::still_leaving(const std::string& model) const {
  const auto* known = table_.find(model);
  const bool still =
      known != nullptr && known->wanted == deployment_state::undeployed && !progress_.complete(*known);
  return still ? progress_of(*known).detail + "; try again" : "";
}

void deployer::carry_out(const drain_node& c, answer reply) {
  node_id to;
  while (to.value < env_.cluster.nodes.size() && node_name(to) != c.node) ++to.value;
  if (to.value == env_.cluster.nodes.size())
    return reply(refused("the cluster has no node '" + c.node + "'"));
  if (to != env_.self) return pass_on(to, c, std::move(reply));
  env_.begin_drain();
  reply({0, true, false, 0, "node '" + c.node + "' finishes what it has and leaves"});
}

template <class Command>
void deployer::pass_on(node_id to, Command c, answer reply) {
  if (!peers_.contains(to)) return reply(refused("node '" + node_name(to) + "' is not up; try again"));
  if (passed_on_.size() >= max_held_commands)
    return reply(refused("too many commands wait already; try again"));
  const auto token = next_token_++;
  passed_on_[token] = {to, c.token, std::move(reply)};
  c.token = token;
  send(to, std::move(c));
}

bool deployer::ready_to_decide() const {
  return env_.time.now() >= decide_at_ || logs_received_.size() + 1 >= env_.cluster.nodes.size();
}

void deployer::decide(change what, duration wait, answer reply) {
  if (ready_to_decide()) return decide_now(what, wait, reply);
  if (held_.size() >= max_held_commands) return reply(refused("too many commands wait already; try again"));
  held_.push_back({std::move(what), wait, std::move(reply)});
  review();
}

void deployer::decide_now(const change& what, duration wait, const answer& reply) {
  const auto d = what();
  if (d.line == nullptr) return reply(refused(d.why));
  const auto model = d.line->model;
  const auto wanted = d.line->wanted;
  const auto domain = d.line->joining;
  if (d.changed) publish(deployment{*d.line});
  auto so_far = progress_of(table_.at(model));
  if (wait <= duration{} || so_far.complete || !so_far.ok) return reply(std::move(so_far));
  if (waiters_.size() >= max_held_commands) {
    so_far.detail += "; too many commands wait for the end of theirs already";
    return reply(std::move(so_far));
  }
  waiters_.push_back({model, wanted, env_.time.now() + wait, domain, reply});
  review();
}

change_reply deployer::progress_of(const deployment& line) const {
  const auto model = "model '" + line.definition.name + "'";
  change_reply r{0, true, false, line.revision, {}};
  const auto missing = progress_.missing(line);
  if (const auto p = progress_.problem(line)) {
    r.ok = false;
    r.detail = "node '" + node_name(p->node) + "' cannot load " + model + ": " + p->what;
  } else if (line.wanted == deployment_state::retiring) {
    r.detail = model + " takes no new requests" +
               (missing ? "; node '" + node_name(*missing) + "' still answers old ones" : "");
  } else if (missing) {
    r.detail = model +
               (line.wanted == deployment_state::deployed ? " is being loaded by node '"
                                                          : " is being let go by node '") +
               node_name(*missing) + "'";
  } else if (!progress_.complete(line)) {
    r.detail = model + " waits for a worker: none is up";
  } else if (line.wanted == deployment_state::deployed && line.moves()) {
    r.detail = model + " is being moved";
  } else {
    r.complete = true;
    r.detail =
        model + (line.wanted == deployment_state::deployed ? " is ready on every worker" : " is undeployed");
  }
  return r;
}

void deployer::answer_waiters() {
  const auto now = env_.time.now();
  std::vector<std::pair<answer, change_reply>> due;
  auto next = never;
  std::erase_if(waiters_, [&](waiter& w) {
    const auto& line = table_.at(w.model);
    auto so_far = progress_of(line);
    const bool wants_it = w.wanted == deployment_state::deployed;
    if (wants_it != (line.wanted == deployment_state::deployed)) {
      so_far.ok = so_far.complete = false;
      so_far.detail = "model '" + line.definition.name + "' was " +
                      (wants_it ? "undeployed" : "deployed again") + " meanwhile";
    }
    if (so_far.ok && w.domain != no_domain && !line.moves() && line.domain != w.domain) {
      so_far.ok = so_far.complete = false;
      so_far.detail = "model '" + line.definition.name + "' stays where it was; the log of node '" +
                      node_name(scheduler_) + "' says why";
    }
    if (so_far.ok && !so_far.complete && now < w.until) {
      next = std::min(next, w.until);
      return false;
    }
    due.emplace_back(std::move(w.reply), std::move(so_far));
    return true;
  });
  for (auto& [reply, how] : due) reply(std::move(how));
  if (next != never) wake_at(next);
}

}  // namespace troupe
