#include "policies/llm/generation_batch.hpp"

#include <algorithm>
#include <unordered_set>

#include "policies/llm/queue_turn.hpp"

namespace troupe::llm {
namespace {

/// A choice from its beginning (`begun` null), or from where another engine left it.
sequence_request sequence_of(const generation& g, adapter_id adapter, uint32_t choice,
                             const sequence_progress* begun, const prefix_scope& scope) {
  sequence_request s;
  s.prompt = g.prompt;
  if (begun != nullptr) s.generated = begun->tokens;
  s.adapter = adapter;
  s.max_tokens = g.max_tokens;
  s.sampling = g.sampling;
  s.sampling.seed += choice;
  s.stop = g.stop;
  s.top = g.top_logprobs;
  s.priority = g.priority;
  s.turn = queue_turn(g.arrival, g.due, begun != nullptr);
  // the first token of a request is its first choice's
  if (begun == nullptr && choice == 0) s.due = g.due;
  if (!g.prefill_only) s.tpot = g.tpot;  // no other token comes from here
  s.scope = scope;
  for (const auto& part : g.kv.parts)
    if (part.choice == choice) s.offered = part.positions;
  s.prefill_only = g.prefill_only;
  return s;
}

}  // namespace

bool generation_batch::add(const generation& g, adapter_id adapter, const prefix_scope& scope) {
  in_flight f{g.gateway, g.attempt, adapter, {}, g.prefill_only};
  for (uint32_t i = 0; i < sequences_of(g); ++i) {
    const auto* begun = g.progress.empty() ? nullptr : &g.progress[i];
    const auto choice = begun == nullptr ? i : begun->choice;
    const auto [id, refused] = sequences_.add(sequence_of(g, adapter, choice, begun, scope));
    if (refused != sequence_batch::refusal::none) {
      cancel_sequences(f);
      return false;
    }
    f.open.emplace(choice, id);
    places_.emplace(id, place{g.id, choice});
  }
  requests_.emplace(g.id, std::move(f));
  return true;
}

void generation_batch::cancel_sequences(const in_flight& f) {
  for (const auto& [_, sequence] : f.open) {
    sequences_.cancel(sequence);
    places_.erase(sequence);
  }
}

adapter_id generation_batch::forget(table::iterator r) {
  const auto adapter = r->second.adapter;
  requests_.erase(r);
  return adapter;
}

std::optional<adapter_id> generation_batch::cancel(request_id id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return {};
  cancel_sequences(found->second);
  return forget(found);
}

std::optional<adapter_id> generation_batch::end_choice(request_id id, uint32_t choice) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return {};
  auto& open = found->second.open;
  const auto sequence = open.find(choice);
  if (sequence == open.end()) return {};
  sequences_.cancel(sequence->second);
  places_.erase(sequence->second);
  open.erase(sequence);
  if (!open.empty()) return {};
  return forget(found);
}

bool generation_batch::stop(request_id id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return false;
  for (const auto& [_, sequence] : found->second.open) scheduler().stop(sequence);
  return true;
}

bool generation_batch::can_take(const in_flight& f) const {
  return std::all_of(f.open.begin(), f.open.end(),
                     [&](const auto& o) { return scheduler().can_take(o.second); });
}

bool generation_batch::has_prefilled(request_id id) const {
  const auto* known = find(id);
  return known != nullptr && known->prefill_only && can_take(*known);
}

std::optional<generation_batch::stopped_request> generation_batch::take(request_id id) {
  if (!can_take(requests_.at(id))) return {};
  stopped_request out{std::move(requests_.extract(id).mapped()), {}};
  for (const auto& [choice, sequence] : out.was.open) {
    places_.erase(sequence);
    out.choices.push_back({choice, sequences_.take(sequence)});
  }
  return out;
}

std::optional<std::pair<request_id, uint32_t>> generation_batch::choice_of(sequence_id id) const {
  const auto known = places_.find(id);
  if (known == places_.end()) return {};
  return std::pair{known->second.request, known->second.choice};
}

std::span<const generation_batch::choice_token> generation_batch::done(std::span<const chosen_token> chosen) {
  results_.clear();
  for (const auto& got : sequences_.done(chosen)) {
    const auto known = places_.find(got.sequence);
    if (known == places_.end()) continue;  // another choice of its request has failed
    const auto at = known->second;
    const auto found = requests_.find(at.request);
    auto& f = found->second;
    auto& result = results_.emplace_back(choice_token{at.request, f.gateway, f.attempt, at.choice, got.chosen,
                                                      got.finish, false, f.adapter, got.cached});
    if (got.chosen == nullptr) {
      cancel_sequences(f);
      f.open.clear();
    } else if (got.ended()) {
      places_.erase(known);
      f.open.erase(at.choice);
    }
    result.last = f.open.empty();
    if (result.last) forget(found);
  }
  return results_;
}

std::vector<request_id> generation_batch::fail_steps() {
  const auto& step = scheduler().step();
  const std::unordered_set<sequence_id> held(step.sequences.begin(), step.sequences.end());
  sequences_.fail_steps();
  return ids_where([&](const in_flight& f) {
    return std::any_of(f.open.begin(), f.open.end(), [&](const auto& o) { return held.contains(o.second); });
  });
}

std::vector<request_id> generation_batch::late() const {
  std::vector<request_id> out;
  for (const auto sequence : scheduler().late())
    if (const auto known = places_.find(sequence); known != places_.end())
      out.push_back(known->second.request);
  return out;
}

std::vector<request_id> generation_batch::take_preempted() {
  std::vector<request_id> out;
  for (const auto sequence : scheduler().take_preempted())
    if (const auto known = places_.find(sequence);
        known != places_.end() && requests_.at(known->second.request).open.size() == 1)
      out.push_back(known->second.request);
  return out;
}

const generation_batch::in_flight* generation_batch::find(request_id id) const {
  const auto found = requests_.find(id);
  return found == requests_.end() ? nullptr : &found->second;
}

/// In an order that is independent of the hash table.
template <class If>
std::vector<request_id> generation_batch::ids_where(If&& wanted) const {
  std::vector<request_id> out;
  for (const auto& [id, f] : requests_)
    if (wanted(f)) out.push_back(id);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<request_id> generation_batch::all() const {
  return ids_where([](const in_flight&) { return true; });
}

std::vector<request_id> generation_batch::of_gateway(node_id node, incarnation_id incarnation) const {
  return ids_where(
      [&](const in_flight& f) { return f.gateway.node == node && f.gateway.incarnation == incarnation; });
}

std::vector<request_id> generation_batch::with_adapter(adapter_id adapter) const {
  return ids_where([&](const in_flight& f) { return f.adapter == adapter; });
}

void generation_batch::add_gateways(std::vector<node_id>& out) const {
  for (const auto& [_, f] : requests_)
    if (std::find(out.begin(), out.end(), f.gateway.node) == out.end()) out.push_back(f.gateway.node);
}

}  // namespace troupe::llm
