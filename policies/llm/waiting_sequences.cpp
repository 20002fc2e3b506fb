#include "policies/llm/waiting_sequences.hpp"

namespace troupe::llm {

void waiting_sequences::add(scheduled_sequence& s) {
  const auto later = std::upper_bound(all_.begin(), all_.end(), &s,
                                      [](const auto* a, const auto* b) { return a->before(*b); });
  all_.insert(later, &s);
}

scheduled_sequence* waiting_sequences::first(const loaded_adapters& loaded) const {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [&](const auto* s) { return !s->late && loaded.contains(s->adapter); });
  return found == all_.end() ? nullptr : *found;
}

std::vector<adapter_id> waiting_sequences::wanted_adapters(const loaded_adapters& loaded,
                                                           size_t limit) const {
  std::vector<adapter_id> out;
  size_t end = 0;  // end of the last one that is not loaded
  for (const auto* s : all_) {
    if (limit == 0) break;
    if (s->adapter == base_model || std::find(out.begin(), out.end(), s->adapter) != out.end()) continue;
    out.push_back(s->adapter);
    if (loaded.contains(s->adapter)) continue;
    end = out.size();
    --limit;
  }
  out.resize(end);
  return out;
}

}  // namespace troupe::llm
