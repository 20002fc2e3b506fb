#include "policies/batching/queue_leadership.hpp"

namespace troupe {

void queue_leadership::begin_term(term_id term, bool own) {
  term_known_ = term != term_id{};
  term_ = own ? term : term_id{};
  // The low bits of the term keep batch ids of different leaders apart.
  if (leads()) next_batch_ = std::max(next_batch_, first_batch_ + ((term.value & 0x7fff) << 48));
}

void queue_leadership::begin_incarnation(incarnation_id incarnation) {
  // Workers that know this term refuse late orders of the old incarnation.
  term_ = elected_ ? term_id{} : term_id{incarnation.value};
  held_.clear();
  forget_takeover();
}

void queue_leadership::forget_takeover() {
  adopted_.clear();
  early_.clear();
}

queue_leadership::arrival queue_leadership::arrive(const request& r) {
  if (leads()) {
    // Gateways submit all requests once more to a new leader. What comes after that is another attempt.
    const auto it = adopted_.find(r.id);
    const bool known =
        it != adopted_.end() && r.gateway == it->second.gateway && r.attempt <= it->second.attempt + 1;
    return known ? arrival::known : arrival::taken;
  }
  if (term_known_) return arrival::other;
  if (held_.size() >= max_held_) return arrival::too_many;
  held_.push_back(r);
  return arrival::held;
}

void queue_leadership::keep_early(const batch_done& d) {
  constexpr size_t max_early = 1024;  // bounds memory; more than the slots with such short batches
  if (elected_ && leads() && early_.size() < max_early) early_[d.batch] = d;
}

std::optional<batch_done> queue_leadership::adopt(const handover& h) {
  next_batch_ = std::max(next_batch_, h.batch.value + 1);
  for (const auto& r : h.requests) adopted_.emplace(r.id, r);
  auto early = early_.extract(h.batch);
  return early.empty() ? std::nullopt : std::optional(std::move(early.mapped()));
}

}  // namespace troupe
