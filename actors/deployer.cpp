#include "actors/deployer.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <caf/all.hpp>
#include <utility>

#include "actors/planted_bug.hpp"
#include "actors/queue_policy.hpp"

namespace troupe {
namespace {

constexpr size_t most_held = 256;

change_reply refusal_of(std::string why) { return {0, false, false, 0, std::move(why)}; }

std::map<node_id, uint32_t> workers_of(const cluster_spec& cluster) {
  std::map<node_id, uint32_t> out;
  for (const auto& slot : cluster.slots) out[slot.node] = cluster.nodes[slot.node.value].domain;
  return out;
}

}  // namespace

deployer::deployer(handle::pointer self, surroundings s)
    : self_(self),
      around_(std::move(s)),
      scheduler_(scheduler_of(around_.cluster)),
      book_(around_.cluster.models, around_.cluster.limits.models),
      progress_(workers_of(around_.cluster)),
      own_(around_.cluster, around_.self) {}

deployer::handle::behavior_type deployer::make_behavior() {
  report_exceptions(*self_, around_.broken);
  return {[this](const introduction& i) {
            node_ = i.node;
            life_ = i.life;
            next_token_ = life_.value;
            progress_.up(around_.self, life_);
            decide_at_ = around_.time.now() + 3 * around_.cluster.limits.node_timeout;
            for (const auto& [id, line] : book_.lines()) apply(line);
            review();
          },
          [this](const control_frame& f) {
            ++frames_;
            on_frame(f);
          },
          [this](const peer_change& p) { on_peer(p); },
          [this](const reborn& r) { on_reborn(r.life); },
          [this](const tenure& t) { on_tenure(t); },
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

template <class M>
void deployer::send(node_id to, M&& m, incarnation life) {
  around_.control.send({{around_.self, life_, role::deployer, 0},
                        {to, life, role::deployer, 0},
                        caf::make_message(std::forward<M>(m))});
}

// commands

template <class Command>
caf::result<change_reply> deployer::on_command(const Command& c) {
  auto promise = self_->make_response_promise<change_reply>();
  carry_out(c, [promise, token = c.token](change_reply r) mutable {
    r.token = token;
    promise.deliver(std::move(r));
  });
  return promise;
}

void deployer::carry_out(const deploy& c, answer reply) {
  if (!decides()) return pass_on(scheduler_, c, std::move(reply));
  auto read = around_.read_model(c.definition);
  if (!read.problem.empty()) return reply(refusal_of(read.problem));
  try {
    make_policy(around_.cluster, read.definition);  // or the queue's thread would find out
  } catch (const std::runtime_error& e) {
    return reply(refusal_of(e.what()));
  }
  const auto bring = [this, m = std::move(read.definition)] {
    auto still = still_leaving(m.name);
    return still.empty() ? book_.deploy(m) : deployment_book::decision{nullptr, false, still};
  };
  decide(bring, c.wait, std::move(reply));
}

void deployer::carry_out(const redeploy& c, answer reply) {
  if (!decides()) return pass_on(scheduler_, c, std::move(reply));
  const auto bring = [this, model = c.name] {
    auto still = still_leaving(model);
    return still.empty() ? book_.redeploy(model) : deployment_book::decision{nullptr, false, still};
  };
  decide(bring, c.wait, std::move(reply));
}

void deployer::carry_out(const undeploy& c, answer reply) {
  if (!decides()) return pass_on(scheduler_, c, std::move(reply));
  decide([this, model = c.name] { return book_.undeploy(model); }, c.wait, std::move(reply));
}

void deployer::carry_out(const move_model& c, answer reply) {
  if (!decides()) return pass_on(scheduler_, c, std::move(reply));
  uint32_t to = 0;
  while (to < around_.cluster.domains.size() && around_.cluster.domains[to].name != c.domain) ++to;
  if (to >= around_.cluster.domains.size())
    return reply(refusal_of("the cluster has no domain '" + c.domain + "'"));
  decide([this, model = c.name, to] { return book_.move(model, to); }, c.wait, std::move(reply));
}

/// What is being let go must be gone before it comes back: its id may be the same.
std::string deployer::still_leaving(const std::string& model) const {
  const auto* known = book_.find(model);
  const bool still =
      known != nullptr && known->wanted == deployment_state::undeployed && !progress_.complete(*known);
  return still ? progress_of(*known).detail + "; try again" : "";
}

void deployer::carry_out(const drain_node& c, answer reply) {
  node_id to;
  while (to.value < around_.cluster.nodes.size() && node_name(to) != c.node) ++to.value;
  if (to.value == around_.cluster.nodes.size())
    return reply(refusal_of("the cluster has no node '" + c.node + "'"));
  if (to != around_.self) return pass_on(to, c, std::move(reply));
  around_.begin_drain();
  reply({0, true, false, 0, "node '" + c.node + "' finishes what it has and leaves"});
}

template <class Command>
void deployer::pass_on(node_id to, Command c, answer reply) {
  if (!peers_.contains(to)) return reply(refusal_of("node '" + node_name(to) + "' is not up; try again"));
  if (passed_on_.size() >= most_held) return reply(refusal_of("too many commands wait already; try again"));
  const auto token = next_token_++;
  passed_on_[token] = {to, c.token, std::move(reply)};
  c.token = token;
  send(to, std::move(c));
}

bool deployer::ready_to_decide() const {
  return around_.time.now() >= decide_at_ || heard_.size() + 1 >= around_.cluster.nodes.size();
}

void deployer::decide(change what, duration wait, answer reply) {
  if (ready_to_decide()) return decide_now(what, wait, reply);
  if (held_.size() >= most_held) return reply(refusal_of("too many commands wait already; try again"));
  held_.push_back({std::move(what), wait, std::move(reply)});
  review();
}

void deployer::decide_now(const change& what, duration wait, const answer& reply) {
  const auto d = what();
  if (d.line == nullptr) return reply(refusal_of(d.why));
  const auto model = d.line->model;
  const auto wanted = d.line->wanted;
  const auto domain = d.line->joining;
  if (d.changed) publish(deployment{*d.line});
  auto so_far = progress_of(book_.at(model));
  if (wait <= duration{} || so_far.complete || !so_far.ok) return reply(std::move(so_far));
  if (waiters_.size() >= most_held) {
    so_far.detail += "; too many commands wait for the end of theirs already";
    return reply(std::move(so_far));
  }
  waiters_.push_back({model, wanted, around_.time.now() + wait, domain, reply});
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

// the log and its parts

void deployer::on_frame(const control_frame& f) {
  const auto from = f.from.node;
  const auto command = [&]<class C>(const C& c) {
    carry_out(c, [this, asker = f.from, token = c.token](change_reply r) {
      r.token = token;
      send(asker.node, std::move(r), asker.life);  // a later life did not ask
    });
  };
  auto body = f.body;
  body.apply({[&](const deployment_log& log) {
                heard_.insert(from);
                deployment_log news;
                for (const auto id : book_.merge(log, from == scheduler_)) {
                  apply(book_.at(id));
                  news.models.push_back(book_.at(id));
                }
                // Others may not know it either: who decides tells them all.
                if (!news.models.empty() && from != scheduler_)
                  for (const auto& [peer, life] : peers_)
                    if (peer != from && (decides() || peer == scheduler_)) send(peer, deployment_log{news});
                review();
              },
              [&](const deployment_report& r) {
                for (const auto& part : r.parts) progress_.done(from, f.from.life, part);
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
    peers_[p.node] = p.life;
    progress_.up(p.node, p.life);
    if (!planted(bug::keep_log)) send(p.node, book_.changes());
    if (p.node == scheduler_) tell_parts();
  } else {
    forget_peer(p.node, p.life);
  }
  review();
}

void deployer::forget_peer(node_id node, incarnation life) {
  peers_.erase(node);
  progress_.down(node, life);
  std::vector<answer> lost;
  std::erase_if(passed_on_, [&](auto& x) {
    if (x.second.to == node) lost.push_back(std::move(x.second.reply));
    return x.second.to == node;
  });
  for (const auto& reply : lost)
    reply(refusal_of("node '" + node_name(node) + "' went away before it answered; ask again"));
}

/// The log and what is loaded outlive a life; who is up must be learned anew, and nothing is complete before.
void deployer::on_reborn(incarnation life) {
  life_ = life;
  for (const auto& [node, its_life] : std::map(peers_)) forget_peer(node, its_life);
  progress_.forget_all();
  heard_.clear();
  decide_at_ = around_.time.now() + 3 * around_.cluster.limits.node_timeout;
  progress_.up(around_.self, life_);
  for (const auto& [id, part] : own_.done()) progress_.done(around_.self, life_, part);
  review();
}

/// To who decides.
void deployer::tell_parts() {
  deployment_report mine;
  for (const auto& [id, part] : own_.done()) mine.parts.push_back(part);
  send(scheduler_, std::move(mine));
}

void deployer::on_tenure(const tenure& t) {
  const bool decided = decides(), knew_all = ready_to_decide();
  scheduler_ = t.scheduler;
  if (peers_.contains(scheduler_)) {
    send(scheduler_, book_.changes());
    tell_parts();
  }
  if (!decided && decides() && knew_all) {
    // What the last holder may have told only some, this node among them or not. Who does not say what it
    // knows in a node timeout is dead.
    heard_.clear();
    for (uint32_t i = 0; i < around_.cluster.nodes.size(); ++i)
      if (const node_id n{i}; n != around_.self && !peers_.contains(n)) heard_.insert(n);
    decide_at_ = around_.time.now() + around_.cluster.limits.node_timeout;
    for (const auto& [peer, life] : peers_) send(peer, book_.changes());
  }
  if (decided && !decides()) {
    const auto moved = "node '" + node_name(scheduler_) + "' is the scheduler now; ask again";
    for (const auto& h : std::exchange(held_, {})) h.reply(refusal_of(moved));
    for (const auto& w : std::exchange(waiters_, {})) w.reply(refusal_of(moved));
  }
  review();
}

void deployer::publish(const deployment& line) {
  spdlog::info("event=deployment revision={} model={} name={} wanted={}", line.revision, line.model.value,
               line.definition.name, to_string(line.wanted));
  const auto named = [&](uint32_t d) { return d == no_domain ? "none" : domain_name(around_.cluster, d); };
  if (line.moves())
    spdlog::info("event=move model={} domain={} joining={} leaving={}", line.definition.name,
                 named(line.domain), named(line.joining), named(line.leaving));
  for (const auto& [peer, life] : peers_) send(peer, deployment_log{{line}});
  apply(line);
}

/// Begins this node's part. What is still being loaded is let go when it is loaded.
void deployer::apply(const deployment& line) {
  if (!own_.wants(line) && own_.loading(line.model)) return;
  const auto next = own_.begin(line);
  tell_slots(next.changed);
  caf::anon_send(node_, deployment_log{{line}});
  if (next.load)
    around_.devices.load(line, [me = handle(self_)](load_outcome o) { caf::anon_send(me, std::move(o)); });
  if (next.done) part_done(*next.done);
}

void deployer::on_loaded(const load_outcome& o) {
  const auto& line = book_.at(o.model);
  if (line.revision == o.revision && !o.loaded) {
    spdlog::error("event=load_failed model={} reason=\"{}\"", line.definition.name, o.problem);
    if (line.revision == 0) around_.on_unusable(o.problem);
  }
  const auto next = own_.loaded(o, line);
  tell_slots(next.changed);
  if (next.done) part_done(*next.done);
  if (!own_.wants(line) && !own_.loading(o.model)) apply(line);
}

void deployer::on_idle(const model_idle& i) {
  if (const auto done = own_.idle(i)) part_done(*done);
}

void deployer::tell_slots(const std::vector<slot_id>& slots) {
  for (const auto slot : slots)
    caf::anon_send(
        node_, slot_ready{slot, {around_.self, life_, role::gpu_worker, slot.value}, own_.models_of(slot)});
}

void deployer::part_done(const deployment_part& part) {
  progress_.done(around_.self, life_, part);
  if (peers_.contains(scheduler_)) send(scheduler_, deployment_report{{part}});
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
    for (const auto& [id, line] : book_.lines()) {
      if (line.wanted == deployment_state::deployed && line.moves() && decides()) {
        retiring = true;
        if (may_decide) moving.push_back(id);
      }
      if (line.wanted != deployment_state::retiring || !decides()) continue;
      retiring = true;
      if (may_decide && progress_.complete(line)) gone.push_back(id);
    }
    for (const auto id : gone) publish(deployment{book_.retired(id)});
    for (const auto id : moving) move_on(book_.at(id));
    if (may_decide)
      answer_waiters();
    else if (decides() && (retiring || !held_.empty() || !waiters_.empty()))
      wake_at(decide_at_);
  } while (again_);
  reviewing_ = false;
}

/// The next step of a move, if every node has done its part of this one.
void deployer::move_on(const deployment& line) {
  if (progress_.complete(line)) return publish(deployment{book_.moved_on(line.model)});
  const auto problem = progress_.problem(line);
  if (line.joining == no_domain || !problem) return;
  spdlog::error("event=move_failed model={} domain={} node={} reason=\"{}\"", line.definition.name,
                domain_name(around_.cluster, line.joining), node_name(problem->node), problem->what);
  publish(deployment{book_.stay(line.model)});
}

void deployer::answer_waiters() {
  const auto now = around_.time.now();
  std::vector<std::pair<answer, change_reply>> due;
  auto next = never;
  std::erase_if(waiters_, [&](waiter& w) {
    const auto& line = book_.at(w.model);
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

group_report deployer::report() const {
  group_report r;
  const address me{around_.self, life_, role::deployer, 0};
  const auto waiting = self_->mailbox().size();
  r.actors.push_back(me);
  r.figures.push_back({me, own_.loading() ? "loading" : "idle", frames_, waiting, waiting});
  return r;
}

void deployer::wake_at(time_point t) {
  if (t >= armed_) return;
  armed_ = t;
  around_.wake(caf::actor_cast<caf::actor>(self_), t);
}

}  // namespace troupe
