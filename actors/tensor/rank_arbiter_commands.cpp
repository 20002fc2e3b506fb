// Commands to an arbiter (messages/tensor/commands.hpp), and its metrics.
#include <algorithm>
#include <string>
#include <utility>

#include "actors/tensor/decision_log_size.hpp"
#include "actors/tensor/rank_arbiter.hpp"
#include "messages/commands/run_command.hpp"
#include "policies/common/time_math.hpp"

namespace troupe {
namespace {

grant_story story_of(const grant_log& log, const explain_grant& asked) {
  grant_story out;
  const auto d = log.find(asked.model, asked.sequence);
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
  if (const auto taker = log.preempted_by(asked.model, asked.sequence)) {
    out.taken_at = taker->at;
    out.taken_by = taker->model;
    out.taken_rows = taker->rows;
  }
  return out;
}

}  // namespace

command_reply rank_arbiter::on_command(const command& c, time_point now) {
  return run_command(rank_arbiter_commands{}, c,
                     overloaded{
                         [&](const get_state&) { return describe(now); },
                         [&](const take_slot_out& t) {
                           if (!slots_.contains(t.slot))
                             throw command_refused("take_slot_out.slot: no such slot is up");
                           scaling_.release(t.slot);
                           set_service(t.slot, false, now);
                           return acknowledged{};
                         },
                         [&](const put_slot_back& p) {
                           if (!slots_.is_out(p.slot))
                             throw command_refused("put_slot_back.slot: this slot is not out of service");
                           scaling_.release(p.slot);
                           set_service(p.slot, true, now);
                           return acknowledged{};
                         },
                         [&](const explain_grant& e) { return story_of(log_, e); },
                         [&](const set_decision_log& s) {
                           log_ = grant_log::of_requests(checked(s));
                           return acknowledged{};
                         },
                     });
}

arbiter_state rank_arbiter::describe(time_point now) const {
  arbiter_state out;
  out.domain = domain_.name;
  out.grants = grants_;
  out.refused = refused_;
  for (const auto& [id, s] : slots_) {
    if (!s.accepts) continue;
    slot_state line;
    line.slot = id;
    line.node = s.worker.node;
    line.state = slots_.is_out(id) ? "out_of_service" : s.orders.empty() ? "idle" : "busy";
    line.orders = static_cast<uint32_t>(s.orders.size());
    // The end of an order of an earlier term is not known.
    if (!s.orders.empty() && s.orders.back().free_at != never) line.free_in = s.orders.back().free_at - now;
    line.busy = s.busy;
    out.slots.push_back(std::move(line));
  }
  std::sort(out.slots.begin(), out.slots.end(), [](const auto& a, const auto& b) { return a.slot < b.slot; });
  for (const auto& [id, q] : queues_) {
    candidate_state line;
    line.model = id;
    line.rows = q.window.rows;
    if (q.window.rows > 0) {
      line.exec_in = q.window.exec_at - now;
      line.latest_in = q.window.latest - now;
    }
    line.granted = q.granted.has_value();
    out.candidates.push_back(line);
  }
  if (const auto* a = scaling_.advice(); a != nullptr)
    out.autoscale = {true, slots_.in_service(), a->gpus, a->bad_rate, a->idle};
  std::sort(out.candidates.begin(), out.candidates.end(),
            [](const auto& a, const auto& b) { return a.model < b.model; });
  return out;
}

void rank_arbiter::report(std::vector<metric>& out) const {
  const auto add = [&](const char* name, double value, metric::kind kind,
                       std::vector<std::pair<std::string, std::string>> labels = {}) {
    if (!domain_.name.empty()) labels.emplace_back("domain", domain_.name);
    out.push_back({name, std::move(labels), value, kind});
  };
  using enum metric::kind;
  const auto mine =
      std::count_if(slots_.begin(), slots_.end(), [](const auto& x) { return x.second.accepts; });
  add("troupe_slots", static_cast<double>(mine), gauge);
  add("troupe_grants_total", static_cast<double>(grants_), counter);
  add("troupe_orders_refused_total", static_cast<double>(refused_), counter);
  add("troupe_slot_rests_total", static_cast<double>(rests_), counter);
  add("troupe_orders_preempted_total", static_cast<double>(preempted_), counter);
  if (const auto* a = scaling_.advice(); a != nullptr) {
    add("troupe_slots_in_service", static_cast<double>(slots_.in_service()), gauge);
    add("troupe_autoscale_advice", static_cast<double>(a->gpus), gauge);
    add("troupe_autoscale_bad_rate", a->bad_rate, gauge);
    add("troupe_autoscale_idle_fraction", a->idle, gauge);
  }
  for (const auto id : slots_.sorted())
    add("troupe_slot_busy_seconds_total", to_seconds(slots_.find(id)->busy), counter,
        {{"slot", std::to_string(id.value)}});
}

}  // namespace troupe
