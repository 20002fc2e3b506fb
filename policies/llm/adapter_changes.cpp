#include "policies/llm/adapter_changes.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void adapter_changes::begin(change_adapter asked, std::set<engine_id> engines) {
  const auto token = asked.token;
  changes_.emplace(token,
                   change{std::move(asked), std::move(engines), {}, {token, adapter_answer::done, {}}});
}

std::optional<adapter_changes::settled> adapter_changes::on_answer(engine_id from, const adapter_changed& a) {
  const auto c = changes_.find(a.token);
  if (c == changes_.end() || !c->second.awaited.contains(from)) return {};
  return note(c, from, a);
}

std::vector<adapter_changes::settled> adapter_changes::lose(engine_id id) {
  std::vector<settled> out;
  for (auto c = changes_.begin(); c != changes_.end();) {
    const auto at = c++;
    if (!at->second.awaited.contains(id)) continue;
    if (auto s = note(at, id, {at->first, adapter_answer::refused, "the engine is no longer available"}))
      out.push_back(std::move(*s));
  }
  return out;
}

bool adapter_changes::unloads(llm_id model, std::string_view name) const {
  return std::ranges::any_of(changes_, [&](const auto& c) {
    const auto& asked = c.second.asked;
    return !asked.load && asked.model == model && asked.adapter.name == name;
  });
}

std::optional<adapter_changes::settled> adapter_changes::note(table::iterator at, engine_id from,
                                                              const adapter_changed& a) {
  auto& c = at->second;
  c.awaited.erase(from);
  if (a.answer == adapter_answer::done)
    c.done.insert(from);
  else if (c.worst.answer == adapter_answer::done)
    c.worst = a;
  if (!c.awaited.empty()) return {};
  const auto all = std::move(c);
  changes_.erase(at);
  settled out{all.worst, {}, {}};
  const bool part = !all.done.empty() && all.worst.answer != adapter_answer::done;
  if (part && all.asked.load) {
    out.undo_at.assign(all.done.begin(), all.done.end());
    out.undo = all.asked;
    out.undo.load = false;
  } else if (part) {
    out.answer = {all.asked.token, adapter_answer::done, {}};  // engines without the adapter do not matter
  }
  return out;
}

}  // namespace troupe
