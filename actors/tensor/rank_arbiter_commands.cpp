// What an arbiter can be asked from outside (messages/commands/commands.hpp).
#include <algorithm>

#include "actors/tensor/decision_log_size.hpp"
#include "actors/tensor/rank_arbiter.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {

command_reply rank_arbiter::on_command(const command& c, time_point now) {
  return run_command(rank_arbiter_commands{}, c,
                     overloaded{
                         [&](const get_state&) { return describe(now); },
                         [&](const take_slot_out& t) {
                           if (!slots_.contains(t.slot))
                             throw command_refused("take_slot_out.slot: no such slot is up");
                           scaled_out_.erase(t.slot);  // whoever says so says when it comes back
                           set_service(t.slot, false, now);
                           return acknowledged{};
                         },
                         [&](const put_slot_back& p) {
                           if (!out_.contains(p.slot))
                             throw command_refused("put_slot_back.slot: this slot is not out of service");
                           scaled_out_.erase(p.slot);
                           set_service(p.slot, true, now);
                           return acknowledged{};
                         },
                         [&](const explain_grant& e) { return explain(e); },
                         [&](const set_decision_log& s) {
                           set_log(checked(s));
                           return acknowledged{};
                         },
                     });
}

/// What the slot runs, or has been granted, goes on.
void rank_arbiter::set_service(slot_id id, bool in, time_point now) {
  if (!(in ? out_.erase(id) > 0 : out_.insert(id).second)) return;
  if (slots_.contains(id)) in ? ++in_service_ : --in_service_;
  if (!in) {
    policy_->remove_slot(id);
  } else if (const auto it = slots_.find(id); it != slots_.end() && accepts_orders(id, it->second.worker) &&
                                              !(quarantine_ && quarantine_->holds(it->second.worker))) {
    const auto& s = it->second;
    policy_->add_slot(id, s.promised ? never : s.free_at(now));
    policy_->set_models(id, s.models);
    policy_->set_rows(id, s.rows());
  }
  for (const auto& [model, q] : queues_) send(q.owner, slot_service{id, in});
}

/// Many models share it, and each request may change a candidate.
void rank_arbiter::set_log(uint32_t requests) { log_ = grant_log(size_t{16} * requests); }

grant_story rank_arbiter::explain(const explain_grant& asked) const {
  grant_story out;
  const auto d = log_.find(asked.model, asked.sequence);
  if (!d) return out;
  out.known = true;
  out.at = d->at;
  out.slot = d->slot;
  out.free_at = d->free_at;
  if (d->chosen) {
    out.since = d->chosen->since;
    out.rows = d->chosen->window.rows;
    out.exec_at = d->chosen->window.exec_at;
    out.latest = d->chosen->window.latest;
  }
  for (const auto& r : d->rivals)
    out.rivals.push_back({r.model, r.since, r.window.rows, r.window.exec_at, r.window.latest});
  if (out.rivals.size() > longest_list) out.rivals.resize(longest_list);
  out.preempts = d->preempts;
  if (const auto taker = log_.preempted_by(asked.model, asked.sequence)) {
    out.taken_at = taker->at;
    out.taken_by = taker->model;
    out.taken_rows = taker->rows;
  }
  return out;
}

arbiter_state rank_arbiter::describe(time_point now) const {
  arbiter_state out;
  out.domain = domain_.name;
  out.grants = grants_;
  out.refused = refused_;
  for (const auto& [id, s] : slots_) {
    if (!accepts_orders(id, s.worker)) continue;
    slot_state line;
    line.slot = id;
    line.node = s.worker.node;
    line.state = out_.contains(id) ? "out_of_service" : s.orders.empty() ? "idle" : "busy";
    line.orders = static_cast<uint32_t>(s.orders.size());
    // What an earlier scheduler had planned is not known.
    if (!s.orders.empty() && s.orders.back().free_at != never) line.free_in = s.orders.back().free_at - now;
    line.busy = s.busy;
    out.slots.push_back(std::move(line));
  }
  std::sort(out.slots.begin(), out.slots.end(), [](const auto& a, const auto& b) { return a.slot < b.slot; });
  for (const auto& [id, q] : queues_) {
    candidate_state line;
    line.model = id;
    line.rows = q.rows;
    if (q.rows > 0) {
      line.exec_in = q.exec_at - now;
      line.latest_in = q.latest - now;
    }
    line.granted = q.granted.has_value();
    out.candidates.push_back(line);
  }
  if (advisor_) {
    const auto& a = advisor_->advice();
    out.autoscale = {true, in_service_, a.gpus, a.bad_rate, a.idle};
  }
  std::sort(out.candidates.begin(), out.candidates.end(),
            [](const auto& a, const auto& b) { return a.model < b.model; });
  return out;
}

}  // namespace troupe
