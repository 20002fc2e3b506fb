#include "actors/cluster/deployer.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <caf/all.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "actors/common/planted_bug.hpp"
#include "policies/cluster/deployment_status.hpp"
#include "policies/cluster/deployment_steps.hpp"

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
      own_(env_.cluster, env_.self),
      recovery_(env_.cluster.nodes.size()),
      pending_(env_.cluster, env_.self, max_commands),
      forwarded_(max_commands) {}

deployer::handle::behavior_type deployer::make_behavior() {
  report_exceptions(*self_, env_.broken);
  return {[this](const introduction& i) {
            node_ = i.node;
            incarnation_ = i.incarnation;
            forwarded_.begin(incarnation_);
            progress_.up(env_.self, incarnation_);
            recovery_.begin(env_.time.now() + env_.cluster.limits.join_timeout());
            for (const auto& [id, line] : table_.lines()) apply(line);
            review();
          },
          [this](const control_frame& f) {
            ++frames_;
            on_frame(f);
          },
          [this](const peer_change& p) { on_peer(p); },
          [this](const new_incarnation& r) { on_new_incarnation(r.incarnation); },
          [this](const leadership& l) { on_leadership(l); },
          [this](const load_outcome& o) { on_loaded(o); },
          [this](const files_settled& f) {
            for (auto& line : std::exchange(waiting_for_files_, {}))
              if (line.model == f.model)
                load(line);
              else
                waiting_for_files_.push_back(std::move(line));
          },
          [this](const model_idle& i) {
            if (const auto done = own_.idle(i)) part_done(*done);
          },
          [this](const report_query& q) { q.reply(report()); },
          [this](wake_atom) {
            wakes_at_ = never;
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
      send(asker.node, std::move(r), asker.incarnation);  // never to a later incarnation
    });
  };
  auto body = f.body;
  body.apply({[&](const deployment_log& log) {
                recovery_.received(from);
                deployment_log news;
                for (const auto id : table_.merge(log, from == scheduler_)) {
                  apply(table_.at(id));
                  news.models.push_back(table_.at(id));
                }
                // Others may not know them either. The deciding deployer sends them to all.
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
                if (const auto reply = forwarded_.take(r.token)) reply(r);
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
    if (p.node == scheduler_) caf::anon_send(node_, own_.report());
  } else {
    forget_peer(p.node, p.incarnation);
  }
  review();
}

void deployer::forget_peer(node_id node, incarnation_id incarnation) {
  peers_.erase(node);
  progress_.down(node, incarnation);
  for (const auto& reply : forwarded_.lose(node))
    reply(refused_change("node '" + node_name(env_.cluster, node) + "' ended before it answered; try again"));
}

/// The log and the loaded models outlive an incarnation. The nodes that are up must be learned anew, and
/// nothing is complete before.
void deployer::on_new_incarnation(incarnation_id incarnation) {
  incarnation_ = incarnation;
  for (const auto& [node, its_incarnation] : std::map(peers_)) forget_peer(node, its_incarnation);
  progress_.forget_all();
  recovery_.begin(env_.time.now() + env_.cluster.limits.join_timeout());
  progress_.up(env_.self, incarnation_);
  for (const auto& part : own_.report().parts) progress_.done(env_.self, incarnation_, part);
  review();
}

void deployer::on_leadership(const leadership& latest) {
  const bool decided = decides(), knew_all = recovery_.complete(env_.time.now());
  scheduler_ = latest.scheduler;
  if (peers_.contains(scheduler_)) {
    send(scheduler_, table_.changes());
    caf::anon_send(node_, own_.report());
  }
  if (!decided && decides() && knew_all) {
    // The last leader may have sent a line to some nodes only. Nodes that are not up will not send their
    // logs.
    recovery_.begin(env_.time.now() + env_.cluster.limits.node_timeout);
    for (uint32_t i = 0; i < env_.cluster.nodes.size(); ++i)
      if (const node_id n{i}; n != env_.self && !peers_.contains(n)) recovery_.received(n);
    for (const auto& [peer, incarnation] : peers_) send(peer, table_.changes());
  }
  if (decided && !decides()) {
    const auto moved = "node '" + node_name(env_.cluster, scheduler_) + "' is the scheduler now; try again";
    for (const auto& h : std::exchange(held_, {})) h.reply(refused_change(moved));
    for (const auto& reply : pending_.take_all()) reply(refused_change(moved));
  }
  review();
}

void deployer::publish(const deployment& line) {
  spdlog::info("event=deployment revision={} model={} name={} wanted={} engine={}", line.revision,
               line.model.value, line.definition.name, to_string(line.wanted),
               to_string(line.definition.runs_by()));
  const auto named = [&](uint32_t d) { return d == no_domain ? "none" : domain_name(env_.cluster, d); };
  if (line.moves())
    spdlog::info("event=move model={} domain={} joining={} leaving={}", line.definition.name,
                 named(line.domain), named(line.joining), named(line.leaving));
  for (const auto& [peer, incarnation] : peers_) send(peer, deployment_log{{line}});
  apply(line);
}

/// Begins this node's part. A model that is still being loaded is released once it is loaded.
void deployer::apply(const deployment& line) {
  if (!own_.wants(line) && own_.loading(line.model)) return;
  const auto next = own_.begin(line);
  send_slots(next.changed);
  const bool needs_files = env_.files_travel && !line.definition.path.empty();
  if (next.load && needs_files) waiting_for_files_.push_back(line);
  caf::anon_send(node_, deployment_log{{line}});
  if (next.load && !needs_files) load(line);
  if (next.done) part_done(*next.done);
}

void deployer::load(const deployment& line) {
  env_.devices.load(line, [me = handle(self_)](load_outcome o) { caf::anon_send(me, std::move(o)); });
}

void deployer::on_loaded(const load_outcome& o) {
  const auto& line = table_.at(o.model);
  if (line.revision == o.revision && !o.loaded) {
    if (line.revision > 0 || o.lost)
      spdlog::error("event=load_failed model={} reason=\"{}\"", line.definition.name, o.problem);
    else
      env_.on_unusable(o.problem, o.transient);
  }
  if (o.lost)  // ends the process (supervision.hpp)
    throw std::runtime_error("slot " + std::to_string(o.slot.value) + ": its device is lost: " + o.problem);
  const auto next = own_.loaded(o, line);
  send_slots(next.changed);
  if (next.done) part_done(*next.done);
  if (!own_.wants(line) && !own_.loading(o.model)) apply(line);
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

/// Does all that has become possible: changes that waited for the log, steps of retirements and moves,
/// replies.
void deployer::review() {
  if (std::exchange(reviewing_, true)) {
    again_ = true;
    return;
  }
  do {
    again_ = false;
    const auto now = env_.time.now();
    auto wake = never;
    if (decides() && recovery_.complete(now)) {
      for (auto& h : std::exchange(held_, {})) decide(std::move(h));
      for (const auto& step : take_steps(table_, progress_)) {
        if (const auto& f = step.failed)
          spdlog::error("event=move_failed model={} domain={} node={} reason=\"{}\"",
                        step.line.definition.name, domain_name(env_.cluster, f->domain),
                        node_name(env_.cluster, f->node), f->reason);
        publish(step.line);
      }
      for (auto& [reply, status] : pending_.take_ended(table_, progress_, now)) reply(std::move(status));
      wake = pending_.next_due();
    } else if (decides() && (has_steps_left(table_) || !held_.empty() || !pending_.empty())) {
      wake = recovery_.until();
    }
    if (wake < wakes_at_) {
      wakes_at_ = wake;
      env_.wake(caf::actor_cast<caf::actor>(self_), wake);
    }
  } while (again_);
  reviewing_ = false;
}

group_report deployer::report() const {
  group_report r;
  const address me{env_.self, incarnation_, role::deployer, 0};
  const auto waiting = self_->mailbox().size();
  r.actors.push_back(me);
  r.statuses.push_back({me, own_.loading() ? "loading" : "idle", frames_, waiting, waiting});
  return r;
}

}  // namespace troupe
