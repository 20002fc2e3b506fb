#include "policies/matchmaking/grant_log.hpp"

#include <algorithm>
#include <set>

namespace troupe {

/// Position after the grant; 0: the grant is no longer in the log.
size_t grant_log::end_of(model_id model, uint64_t sequence) const {
  auto i = entries_.size();
  const auto is_it = [&](const entry& e) {
    return e.model == model && e.sequence == sequence && e.slot != candidate_entry;
  };
  while (i > 0 && !is_it(entries_[i - 1])) --i;
  return i;
}

std::optional<grant_log::decision> grant_log::find(model_id model, uint64_t sequence) const {
  auto i = end_of(model, sequence);
  if (i == 0) return {};
  const auto& grant = entries_[i - 1];
  decision out{grant.at, grant.slot, grant.free_at, {}, {}, grant.preempts};
  // Backwards, so the first entry found of a model is its state at the grant.
  std::set<model_id> seen;
  for (--i; i > 0; --i) {
    const auto& e = entries_[i - 1];
    if (!seen.insert(e.model).second || e.slot != candidate_entry) continue;
    const offer o{e.model, e.at, e.window};
    if (e.model == model)
      out.chosen = o;
    else if (e.window.rows > 0 && e.window.latest >= grant.at)
      out.rivals.push_back(o);
  }
  std::sort(out.rivals.begin(), out.rivals.end(), [](const offer& a, const offer& b) {
    return std::pair(a.window.latest, a.model) < std::pair(b.window.latest, b.model);
  });
  return out;
}

std::optional<grant_log::taker> grant_log::preempted_by(model_id model, uint64_t sequence) const {
  const auto from = end_of(model, sequence);
  if (from == 0) return {};
  const auto slot = entries_[from - 1].slot;
  for (auto i = from; i < entries_.size(); ++i) {
    const auto& next = entries_[i];
    if (next.slot != slot) continue;
    if (!next.preempts) return {};
    taker out{next.at, next.model, 0};
    for (; i > 0; --i)
      if (const auto& e = entries_[i - 1]; e.model == next.model && e.slot == candidate_entry) {
        out.rows = e.window.rows;
        break;
      }
    return out;
  }
  return {};
}

}  // namespace troupe
