#include "policies/grant_log.hpp"

#include <algorithm>
#include <set>

namespace troupe {

std::optional<grant_log::decision> grant_log::find(model_id model, uint64_t sequence) const {
  auto i = entries_.size();
  const auto is_it = [&](const entry& e) {
    return e.model == model && e.sequence == sequence && e.slot != candidate_entry;
  };
  while (i > 0 && !is_it(entries_[i - 1])) --i;
  if (i == 0) return {};
  const auto& grant = entries_[i - 1];
  decision out{grant.at, grant.slot, grant.free_at, {}, {}};
  // Backwards: the first entry of a model says what it had.
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

}  // namespace troupe
