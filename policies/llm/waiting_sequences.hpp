// The sequences that wait at an engine, in the order in which they begin, and the adapters that they need.
#pragma once
#include <algorithm>
#include <cstddef>
#include <deque>
#include <unordered_set>
#include <vector>

#include "policies/llm/scheduled_sequence.hpp"

namespace troupe::llm {

/// The adapters on the device, and the base model, which is always there.
class loaded_adapters {
 public:
  void add(adapter_id a) { ids_.insert(a); }
  void remove(adapter_id a) { ids_.erase(a); }
  bool contains(adapter_id a) const { return a == base_model || ids_.contains(a); }

 private:
  std::unordered_set<adapter_id> ids_;
};

/// The adapters of these sequences, each once, ascending, without the base model.
template <class Sequences>
std::vector<adapter_id> adapters_of(const Sequences& sequences) {
  std::vector<adapter_id> out;
  for (const auto* s : sequences)
    if (s->adapter != base_model) out.push_back(s->adapter);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

class waiting_sequences {
 public:
  void add(scheduled_sequence& s);
  /// Nothing, if it does not wait.
  void remove(const scheduled_sequence& s) { std::erase(all_, &s); }

  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  size_t size() const { return all_.size(); }
  bool empty() const { return all_.empty(); }

  /// The first one that is not late and whose adapter is loaded; null: there is none.
  scheduled_sequence* first(const loaded_adapters& loaded) const;
  /// Adapters that sequences wait for, most urgent first, each once, without the base model: at most `limit`
  /// that are not loaded, and the loaded ones that are more urgent than the last of these.
  std::vector<adapter_id> wanted_adapters(const loaded_adapters& loaded, size_t limit) const;

 private:
  std::deque<scheduled_sequence*> all_;  // by priority and turn
};

}  // namespace troupe::llm
