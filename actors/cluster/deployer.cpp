#include "actors/cluster/deployer.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <caf/all.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "actors/common/planted_bug.hpp"

namespace troupe {
namespace {

std::map<node_id, uint32_t> workers_of(const cluster_spec& cluster) {
  std::map<node_id, uint32_t> out;
  for (const auto& slot : cluster.slots) out[slot.node] = cluster.nodes[slot.node.value].domain;
  return out;
}

}  // namespace

deployer::deployer(handle::pointer self, environment s)
    : self_(self),
      env_(std::move(s)),
      scheduler_(scheduler_of(env_.cluster)),
      table_(env_.cluster.models, env_.cluster.limits.models),
      progress_(workers_of(env_.cluster)),
      own_(env_.cluster, env_.self) {}

deployer::handle::behavior_type deployer::make_behavior() {
  report_exceptions(*self_, env_.broken);
  return {[this](const introduction& i) {
            node_ = i.node;
            incarnation_ = i.incarnation;
            next_token_ = incarnation_.value;
            progress_.up(env_.self, incarnation_);
            decide_at_ = env_.time.now() + 3 * env_.cluster.limits.node_timeout;
            for (const auto& [id, line] : table_.lines()) apply(line);
            review();
          },
          [this](const control_frame& f) {
            ++frames_;
            on_frame(f);
          },
          [this](const peer_change& p) { on_peer(p); },
          [this](const new_incarnation& r) { on_new_incarnation(r.incarnation); },
          [this](const leadership& t) { on_leadership(t); },
          [this](const load_outcome& o) { on_loaded(o); },
          [this](const model_idle& i) { on_idle(i); },
          [this](const report_query& q) { q.reply(report()); },
          [this](wake_atom) {
            armed_ = never;
            review();
          },
          [this](const deploy& c) { return on_command(c); },
          [this](const redeploy& c) { return on_command(c); },
          [this](const undeploy& c) { return on_command(c); },
          [this](const move_model& c) { return on_command(c); },
          [this](const drain_node& c) { return on_command(c); }};
}

void deployer::on_frame(const control_frame& f) {
  const auto from = f.from.node;
  const auto command = [&]<class C>(const C& c) {
    carry_out(c, [this, asker = f.from, token = c.token](change_reply r) {
      r.token = token;
      send(asker.node, std::move(r), asker.incarnation);  // a later incarnation did not ask
    });
  };
  auto body = f.body;
  body.apply({[&](const deployment_log& log) {
                logs_received_.insert(from);
                deployment_log news;
                for (const auto id : table_.merge(log, from == scheduler_)) {
                  apply(table_.at(id));
                  news.models.push_back(table_.at(id));
                }
                // Others may not know it either: who decides tells them all.
                if (!news.models.empty() && from != scheduler_)
                  for (const auto& [peer, incarnation] : peers_)
                    if (peer != from && (decides() || peer == scheduler_)) send(peer, deployment_log{news});
                review();
              },
              [&](const deployment_report& r) {
                for (const auto& part : r.parts) progress_.done(from, f.from.incarnation, part);
                review();
              },
              [&](const change_reply& r) {
                const auto it = passed_on_.find(r.token);
                if (it == passed_on_.end()) return;
                const auto waiting = std::move(it->second);
                passed_on_.erase(it);
                waiting.reply(r);
              },
              [&](const deploy& c) { command(c); }, [&](const redeploy& c) { command(c); },
              [&](const undeploy& c) { command(c); }, [&](const move_model& c) { command(c); },
              [&](const drain_node& c) { command(c); }});
}

void deployer::on_peer(const peer_change& p) {
  if (p.up) {
    peers_[p.node] = p.incarnation;
    progress_.up(p.node, p.incarnation);
    if (!planted(bug::keep_log)) send(p.node, table_.changes());
    if (p.node == scheduler_) send_parts();
  } else {
    forget_peer(p.node, p.incarnation);
  }
  review();
}

void deployer::forget_peer(node_id node, incarnation_id incarnation) {
  peers_.erase(node);
  progress_.down(node, incarnation);
  std::vector<answer> lost;
  std::erase_if(passed_on_, [&](auto& x) {
    if (x.second.to == node) lost.push_back(std::move(x.second.reply));
    return x.second.to == node;
  });
  for (const auto& reply : lost)
    reply(refused("node '" + node_name(node) + "' went away before it answered; ask again"));
}

/// The log and what is loaded outlive an incarnation; who is up must be learned anew, and nothing is complete
/// before.
void deployer::on_new_incarnation(incarnation_id incarnation) {
  incarnation_ = incarnation;
  for (const auto& [node, its_incarnation] : std::map(peers_)) forget_peer(node, its_incarnation);
  progress_.forget_all();
  logs_received_.clear();
  decide_at_ = env_.time.now() + 3 * env_.cluster.limits.node_timeout;
  progress_.up(env_.self, incarnation_);
  for (const auto& [id, part] : own_.done()) progress_.done(env_.self, incarnation_, part);
  review();
}

/// To who decides, through the node actor: it says first what the slots have.
void deployer::send_parts() {
  deployment_report mine;
  for (const auto& [id, part] : own_.done()) mine.parts.push_back(part);
  caf::anon_send(node_, std::move(mine));
}

void deployer::on_leadership(const leadership& t) {
  const bool decided = decides(), knew_all = ready_to_decide();
  scheduler_ = t.scheduler;
  if (peers_.contains(scheduler_)) {
    send(scheduler_, table_.changes());
    send_parts();
  }
  if (!decided && decides() && knew_all) {
    // What the last leader may have told only some, this node among them or not. Who does not say what it
    // knows in a node timeout is dead.
    logs_received_.clear();
    for (uint32_t i = 0; i < env_.cluster.nodes.size(); ++i)
      if (const node_id n{i}; n != env_.self && !peers_.contains(n)) logs_received_.insert(n);
    decide_at_ = env_.time.now() + env_.cluster.limits.node_timeout;
    for (const auto& [peer, incarnation] : peers_) send(peer, table_.changes());
  }
  if (decided && !decides()) {
    const auto moved = "node '" + node_name(scheduler_) + "' is the scheduler now; ask again";
    for (const auto& h : std::exchange(held_, {})) h.reply(refused(moved));
    for (const auto& w : std::exchange(waiters_, {})) w.reply(refused(moved));
  }
  review();
}

void deployer::publish(const deployment& line) {
  spdlog::info("event=deployment revision={} model={} name={} wanted={}", line.revision, line.model.value,
               line.definition.name, to_string(line.wanted));
  const auto named = [&](uint32_t d) { return d == no_domain ? "none" : domain_name(env_.cluster, d); };
  if (line.moves())
    spdlog::info("event=move model={} domain={} joining={} leaving={}", line.definition.name,
                 named(line.domain), named(line.joining), named(line.leaving));
  for (const auto& [peer, incarnation] : peers_) send(peer, deployment_log{{line}});
  apply(line);
}

/// Begins this node's part. What is still being loaded is let go when it is loaded.
void deployer::apply(const deployment& line) {
  if (!own_.wants(line) && own_.loading(line.model)) return;
  const auto next = own_.begin(line);
  send_slots(next.changed);
  caf::anon_send(node_, deployment_log{{line}});
  if (next.load)
    env_.devices.load(line, [me = handle(self_)](load_outcome o) { caf::anon_send(me, std::move(o)); });
  if (next.done) part_done(*next.done);
}

void deployer::on_loaded(const load_outcome& o) {
  const auto& line = table_.at(o.model);
  if (line.revision == o.revision && !o.loaded) {
    spdlog::error("event=load_failed model={} reason=\"{}\"", line.definition.name, o.problem);
    if (line.revision == 0) env_.on_unusable(o.problem);
  }
  if (o.lost && o.revision > 0)  // the process ends and is started again (supervision.hpp)
    throw std::runtime_error("slot " + std::to_string(o.slot.value) + ": its device is lost: " + o.problem);
  const auto next = own_.loaded(o, line);
  send_slots(next.changed);
  if (next.done) part_done(*next.done);
  if (!own_.wants(line) && !own_.loading(o.model)) apply(line);
}

void deployer::on_idle(const model_idle& i) {
  if (const auto done = own_.idle(i)) part_done(*done);
}

void deployer::send_slots(const std::vector<slot_id>& slots) {
  for (const auto slot : slots)
    caf::anon_send(
        node_,
        slot_ready{slot, {env_.self, incarnation_, role::gpu_worker, slot.value}, own_.models_of(slot)});
}

void deployer::part_done(const deployment_part& part) {
  progress_.done(env_.self, incarnation_, part);
  caf::anon_send(node_, deployment_report{{part}});
  review();
}

/// Whatever became possible: commands that waited for the log, the end of a retirement, answers.
void deployer::review() {
  if (std::exchange(reviewing_, true)) {
    again_ = true;
    return;
  }
  do {
    again_ = false;
    const bool may_decide = decides() && ready_to_decide();
    if (may_decide)
      for (const auto& h : std::exchange(held_, {})) decide_now(h.what, h.wait, h.reply);
    std::vector<model_id> gone, moving;
    bool retiring = false;  // or moving
    for (const auto& [id, line] : table_.lines()) {
      if (line.wanted == deployment_state::deployed && line.moves() && decides()) {
        retiring = true;
        if (may_decide) moving.push_back(id);
      }
      if (line.wanted != deployment_state::retiring || !decides()) continue;
      retiring = true;
      if (may_decide && progress_.complete(line)) gone.push_back(id);
    }
    for (const auto id : gone) publish(deployment{table_.retired(id)});
    for (const auto id : moving) move_on(table_.at(id));
    if (may_decide)
      answer_waiters();
    else if (decides() && (retiring || !held_.empty() || !waiters_.empty()))
      wake_at(decide_at_);
  } while (again_);
  reviewing_ = false;
}

/// The next step of a move, if every node has done its part of this one.
void deployer::move_on(const deployment& line) {
  if (progress_.complete(line)) return publish(deployment{table_.moved_on(line.model)});
  const auto problem = progress_.problem(line);
  if (line.joining == no_domain || !problem) return;
  spdlog::error("event=move_failed model={} domain={} node={} reason=\"{}\"", line.definition.name,
                domain_name(env_.cluster, line.joining), node_name(problem->node), problem->what);
  publish(deployment{table_.stay(line.model)});
}

group_report deployer::report() const {
  group_report r;
  const address me{env_.self, incarnation_, role::deployer, 0};
  const auto waiting = self_->mailbox().size();
  r.actors.push_back(me);
  r.statuses.push_back({me, own_.loading() ? "loading" : "idle", frames_, waiting, waiting});
  return r;
}

void deployer::wake_at(time_point t) {
  if (t >= armed_) return;
  armed_ = t;
  env_.wake(caf::actor_cast<caf::actor>(self_), t);
}

}  // namespace troupe
