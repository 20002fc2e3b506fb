// A gateway's part in the coming and going of adapters: all engines of a model have it, or none.
#include <algorithm>
#include <utility>

#include "actors/llm/gateway.hpp"

namespace troupe {

void llm_gateway::begin(change_adapter& c) {
  change all{c, {}, {}, {c.token, adapter_answer::done, {}}};
  const auto engines = catalog_.engines();  // one that loads its model gets it when it is ready
  for (uint32_t i = 0; i < options_.engines.size(); ++i)
    if (options_.engines[i].model == c.model && is_up(engine_id{i}) && engines[i].ready)
      all.awaited.insert(engine_id{i});
  if (all.awaited.empty())
    return clients_.adapter_changed({c.token, adapter_answer::refused, "no engine of the model is ready"});
  for (const auto e : all.awaited) send(address_of(e), c);
  changes_.emplace(c.token, std::move(all));
}

/// An engine that has come gets the adapters that clients brought to the others meanwhile. Nobody waits for
/// its answers; what it has already, or cannot have, stays as it is.
void llm_gateway::complete(engine_id id) {
  if (id.value >= options_.engines.size()) return;
  const auto model = options_.engines[id.value].model;
  for (auto& a : catalog_.lacking(id)) {
    const bool leaves = std::ranges::any_of(changes_, [&](const auto& c) {
      const auto& asked = c.second.asked;
      return !asked.load && asked.model == model && asked.adapter.name == a.name;
    });
    if (!leaves) send(address_of(id), change_adapter{0, model, true, std::move(a)});
  }
}

void llm_gateway::on_answer(engine_id from, const adapter_changed& a) {
  if (const auto c = changes_.find(a.token); c != changes_.end() && c->second.awaited.contains(from))
    note(c, from, a);
}

/// The last answer is the client's. An adapter that one engine refused is taken from those that have it now.
void llm_gateway::note(std::map<uint64_t, change>::iterator at, engine_id from, const adapter_changed& a) {
  auto& c = at->second;
  c.awaited.erase(from);
  if (a.answer == adapter_answer::done)
    c.done.insert(from);
  else if (c.worst.answer == adapter_answer::done)
    c.worst = a;
  if (!c.awaited.empty()) return;
  const auto all = std::move(c);
  changes_.erase(at);
  const bool part = !all.done.empty() && all.worst.answer != adapter_answer::done;
  if (part && all.asked.load) {
    for (const auto e : all.done) {
      auto back = all.asked;
      back.load = false;
      send(address_of(e), std::move(back));
    }
    return clients_.adapter_changed(all.worst);
  }
  // gone where it was: those who did not know it do not matter
  clients_.adapter_changed(part ? adapter_changed{all.asked.token, adapter_answer::done, {}} : all.worst);
}

}  // namespace troupe
