// Placing, moving and refusing requests.
#include <algorithm>
#include <utility>

#include "policies/llm/request_router.hpp"

namespace troupe {
namespace {

constexpr double fewest_ends_per_s = 4;  // below this the rate is not meaningful

/// Zero is none.
duration min_target(duration a, duration b) {
  return a == duration{} ? b : b == duration{} ? a : std::min(a, b);
}

}  // namespace

/// When a request with so many before it gets a place, at the current rate of ends; `now` if the rate is
/// unknown.
time_point request_router::place_after(size_t waiting, time_point now) const {
  if (ends_per_s_ < fewest_ends_per_s) return now;
  return now + from_ms(1000 * static_cast<double>(waiting + 1) / ends_per_s_);
}

/// A waiting request whose TTFT target is missed even if places become free at the current rate.
bool request_router::infeasible(const routed_request& r, time_point now) const {
  const auto place = waiting_.find(place_of(r));
  if (!waits_for_first_token(r) || place == waiting_.end()) return false;
  if (place_after(static_cast<size_t>(std::distance(waiting_.begin(), place)), now) > r.due) return true;
  const auto adapter = number_of(r.adapter);
  const auto may_be_in_time = [&](const auto& e) {
    return takes(e.second, instance_phase::prefill) && e.second.may_have(r, adapter) &&
           e.second.in_time(r, now, split_ && e.second.prefills());
  };
  const bool known = std::ranges::any_of(engines_, [](const auto& e) { return e.second.open(); });
  return known && std::ranges::none_of(engines_, may_be_in_time);
}

/// Of its prompt, in the prefix cache of the engine.
uint64_t request_router::cached_tokens(const routed_request& r, engine_id id) {
  if (!index_ || r.prefix.empty()) return 0;
  const uint64_t blocks = index_->longest(r.prefix)[position_of(id)];
  return std::min(r.tokens, r.sequences * blocks * std::max(1u, engines_.at(id).said.block_tokens));
}

/// Engines that prefill only and engines that decode only are there, or may still appear.
bool request_router::disaggregates() const {
  if (!options_.disaggregated) return false;
  const auto there = [&](instance_phase p) {
    return std::ranges::any_of(engines_,
                               [p](const auto& e) { return e.second.open() && e.second.said.phase == p; });
  };
  return !warm_up_over_ || (there(instance_phase::prefill) && there(instance_phase::decode));
}

/// Whether the engine takes part `as` in requests.
bool request_router::takes(const routed_engine& e, instance_phase as) const {
  return !split_ || as == instance_phase::both || e.said.phase == instance_phase::both || e.said.phase == as;
}

engine_id request_router::best(const routed_request& r, instance_phase as, time_point now,
                               engine_id other_than) {
  const auto adapter = number_of(r.adapter);
  loads_.clear();
  for (const auto& [id, e] : engines_) {
    const bool only_prefills = as == instance_phase::prefill && e.prefills();
    if (id == other_than || !takes(e, as) || !e.may_have(r, adapter) ||
        !e.has_room({r.sequences, r.tokens, r.tpot}, only_prefills))
      continue;
    if (as != instance_phase::decode && !e.in_time(r, now, only_prefills)) continue;
    const auto running = static_cast<uint32_t>(e.running.size());
    loads_.push_back({id, e.sequences, running, std::ranges::count(e.resident, adapter) > 0,
                      running < e.said.adapter_slots, e.resident.size() < e.said.adapter_slots});
  }
  if (loads_.empty()) return no_engine;
  if (as == instance_phase::prefill || (index_ && as == instance_phase::both)) weigh_prefixes(r);
  auto& policy = as == instance_phase::prefill ? *prefill_routing_ : *routing_;
  return loads_[policy.choose(adapter != no_adapter, loads_)].id;
}

/// What each of `loads_` would compute before the request's first token.
void request_router::weigh_prefixes(const routed_request& r) {
  const auto blocks = index_ ? index_->longest(r.prefix) : std::span<const uint32_t>();
  for (auto& l : loads_) {
    const auto& e = engines_.at(l.id);
    const auto known = blocks.empty() ? 0 : blocks[position_of(l.id)];
    const uint64_t cached = uint64_t{r.sequences} * known * std::max(1u, e.said.block_tokens);
    l.to_compute = e.uncomputed_tokens() + r.tokens - std::min(cached, r.tokens);
  }
}

/// A request that an engine decodes goes on on another one that does.
request_router::choice request_router::choose(const routed_request& r, time_point now, engine_id other_than) {
  using enum instance_phase;
  if (!split_) return {best(r, both, now, other_than)};
  if (r.at != no_engine && r.decode_at == no_engine) return {best(r, decode, now, other_than)};
  const auto to = best(r, prefill, now, other_than);
  if (to == no_engine || !engines_.at(to).prefills()) return {to};
  const bool keeps = r.decode_at != no_engine && engines_.at(r.decode_at).open();
  const auto decode_at = keeps ? r.decode_at : best(r, decode, now, other_than);
  if (decode_at == no_engine) return {};
  return {to, decode_at};
}

void request_router::move(request& r, choice to, route_reason why, time_point now) {
  take_from_engines(r);
  orphans_.erase(r.asked.id);
  put(r, to);
  engines_.at(to.to).add_fresh({now, r.asked.tokens, r.asked.tokens - cached_tokens(r.asked, to.to)});
  ++counts_.moved[static_cast<size_t>(why)];
  decide_on(r, why);
}

void request_router::decide_on(const request& r, route_reason why) {
  decisions_.push_back({r.gateway, {r.asked.id, r.asked.version, r.asked.at, why, r.asked.decode_at}});
}

/// The request is forgotten at once; its gateway assigns the outcome.
void request_router::refuse(request_id id, drop_reason why) {
  const auto r = requests_.find(id);
  ++counts_.refused;
  decisions_.push_back({r->second.gateway, {id, r->second.asked.version, no_engine}, why});
  forget(r);
}

/// No engine serves, but one could be started, or may still appear.
bool request_router::may_start(const request& r, time_point now) const {
  if (options_.cold_start == duration{}) return false;
  if (!r.asked.started && now >= r.since + options_.cold_start) return false;
  return std::ranges::any_of(engines_, [&](const auto& e) {
    return e.second.up ? e.second.said.problem.empty() : !e.second.heard && !warm_up_over_;
  });
}

void request_router::place_waiting(time_point now) {
  wants_instance_ = false;
  cold_due_ = never;
  while (!dues_.empty() && dues_.begin()->first < now) refuse(dues_.begin()->second, drop_reason::late);
  for (auto w = waiting_.begin(); w != waiting_.end();) {
    auto& r = requests_.at(std::get<request_id>(*w++));
    const auto& asked = r.asked;
    if (r.since == never) r.since = now;
    if (const auto to = choose(asked, now); to.to != no_engine) {
      stop_waiting(asked);
      move(r, to, route_reason::placed, now);
      continue;
    }
    size_t open = 0, suitable = 0, coming = 0;
    for (const auto& [_, e] : engines_) {
      open += e.open();
      suitable += e.may_have(asked, number_of(asked.adapter));
      const bool scales = options_.cold_start > duration{};
      const bool loads = scales ? e.said.stage == instance_stage::loading : !e.said.ready;
      coming += e.up ? loads && e.said.problem.empty() : !e.heard && !warm_up_over_;
    }
    if (open == 0 && may_start(r, now)) {
      wants_instance_ = wants_instance_ || coming == 0;
      if (!asked.started) cold_due_ = std::min(cold_due_, r.since + options_.cold_start);
    } else if (suitable == 0 && (coming == 0 || (open == 0 && options_.cold_start > duration{}))) {
      if (open > 0 && !asked.adapter.empty())
        refuse(asked.id, drop_reason::undeployed);
      else if (!asked.started)  // a started request waits for an engine as long as its client does
        refuse(asked.id, drop_reason::no_capacity);
    } else if (infeasible(asked, now)) {
      refuse(asked.id, drop_reason::late);
    } else if (suitable == open) {
      break;
    }
  }
  for (const auto id : std::exchange(newcomers_, {}))
    if (const auto r = requests_.find(id); r != requests_.end() && infeasible(r->second.asked, now))
      refuse(id, drop_reason::late);
  for (auto w = waiting_.end(); waiting_.size() > options_.max_waiting && w != waiting_.begin();) {
    const auto last = std::get<request_id>(*--w);
    if (requests_.at(last).asked.started) continue;
    const auto next = std::next(w);
    refuse(last, drop_reason::queue_full);
    w = next;
  }
}

void request_router::move_preempted(time_point now) {
  for (const auto id : std::exchange(preempted_, {})) {
    auto& r = requests_.at(id);
    if (const auto to = choose(r.asked, now, r.asked.at); to.to != no_engine)
      move(r, to, route_reason::preempted, now);
  }
}

void request_router::empty_closed(time_point now) {
  for (auto& [id, e] : engines_) {
    if (!e.up && !warm_up_over_) continue;  // a new router has not heard of it yet
    if (e.open() && !e.prefills()) continue;
    if (e.up && !e.open()) leave(id, now);
    for (const auto coming : std::vector(e.expected.begin(), e.expected.end()))
      redirect(requests_.at(coming), now);
  }
}

/// The requests of an engine go to others as they have room.
void request_router::leave(engine_id id, time_point now) {
  const auto here = engines_.at(id).requests;
  for (const auto leaving : here) {
    auto& r = requests_.at(leaving);
    if (const auto to = choose(r.asked, now, id); to.to != no_engine) move(r, to, route_reason::drained, now);
  }
}

/// Another engine will decode it, if one has room.
void request_router::redirect(request& r, time_point now) {
  const auto before = r.asked.decode_at;
  const auto to = best(r.asked, instance_phase::decode, now, before);
  if (to == no_engine || engines_.at(to).prefills()) return;
  const auto adapter = number_for(r.asked.adapter);
  if (before != no_engine) engines_.at(before).expect_no_more(r.asked, adapter);
  r.asked.decode_at = to;
  engines_.at(to).expect(r.asked, adapter);
  decide_on(r, route_reason::drained);
}

/// Their gateways ask again for those that find no engine now, once they have their first token.
void request_router::redirect_orphans(time_point now) {
  for (const auto id : std::exchange(orphans_, {}))
    if (auto& r = requests_.at(id);
        r.asked.at != no_engine && engines_.at(r.asked.at).prefills() && r.asked.decode_at == no_engine)
      redirect(r, now);
}

const std::vector<request_router::decision>& request_router::decide(time_point now) {
  for (auto& [_, e] : engines_) e.forget_fresh(now - 4 * options_.status_age);
  ends_per_s_ = ends_.rate(now).value_or(0);
  if (began_ == never) began_ = now;
  warm_up_over_ = now >= began_ + options_.patience;
  split_ = disaggregates();
  empty_closed(now);
  redirect_orphans(now);
  move_preempted(now);
  place_waiting(now);
  taken_.clear();
  taken_.swap(decisions_);
  return taken_;
}

time_point request_router::next_due() const {
  const auto due = dues_.empty() ? never : dues_.begin()->first;
  const bool awaits = !waiting_.empty() && began_ != never && !warm_up_over_;
  return std::min({due, cold_due_, awaits ? began_ + options_.patience : never});
}

std::string request_router::migrate(request_id id, engine_id to, time_point now) {
  const auto r = requests_.find(id);
  if (r == requests_.end()) return "there is no request " + std::to_string(id.value);
  const auto e = engines_.find(to);
  const auto name = "engine " + std::to_string(to.value);
  if (e == engines_.end()) return "the model has no " + name;
  const auto& asked = r->second.asked;
  if (asked.at == to) return "the request is on " + name + " already";
  if (asked.at == no_engine) return "the request still waits for an engine";
  if (!e->second.open()) return name + " accepts no sequences";
  if (!e->second.may_have(asked, number_of(asked.adapter)))
    return name + " does not have its adapter, or can never have room for it";
  auto without = e->second;
  if (asked.decode_at == to) without.expect_no_more(asked, number_for(asked.adapter));
  if (!without.has_room({asked.sequences, asked.tokens, asked.tpot}))
    return name + " has no room for the request now";
  move(r->second, {to, e->second.prefills() ? asked.decode_at : no_engine}, route_reason::asked, now);
  return {};
}

/// Targets for all requests of the engine: the fullest engines that stay within their bounds. Empty: they do
/// not all fit.
std::vector<std::pair<request_id, engine_id>> request_router::plan_emptying(engine_id id) const {
  std::vector<std::pair<request_id, engine_id>> plan;
  std::map<engine_id, load> given;
  for (const auto leaving : engines_.at(id).requests) {
    const auto& asked = requests_.at(leaving).asked;
    const auto adapter = number_of(asked.adapter);
    auto best = no_engine;
    uint32_t max = 0;
    for (const auto& [other, e] : engines_) {
      if (other == id || e.sequences < engines_.at(id).sequences || !e.may_have(asked, adapter) ||
          e.said.phase != engines_.at(id).said.phase)
        continue;
      const auto& so_far = given[other];
      const auto tpot = min_target(so_far.tpot, asked.tpot);
      if (!e.has_room({so_far.sequences + asked.sequences, so_far.tokens + asked.tokens, tpot})) continue;
      if (best != no_engine && e.sequences + so_far.sequences < max) continue;
      best = other;
      max = e.sequences + so_far.sequences;
    }
    if (best == no_engine) return {};
    given[best].sequences += asked.sequences;
    given[best].tokens += asked.tokens;
    given[best].tpot = min_target(given[best].tpot, asked.tpot);
    plan.emplace_back(leaving, best);
  }
  return plan;
}

void request_router::consolidate(time_point now) {
  if (!waiting_.empty()) return;
  auto emptiest = no_engine;
  for (const auto& [id, e] : engines_)
    if (e.open() && e.sequences > 0 && e.expected.empty() && !e.prefills() &&
        (emptiest == no_engine || e.sequences < engines_.at(emptiest).sequences))
      emptiest = id;
  if (emptiest == no_engine) return;
  for (const auto& [id, to] : plan_emptying(emptiest))
    move(requests_.at(id), {to}, route_reason::consolidated, now);
}

}  // namespace troupe
