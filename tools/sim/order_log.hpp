// The orders of each slot, observed at the worker.
#pragma once
#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "messages/tensor/scheduling.hpp"
#include "tools/sim/payload.hpp"

namespace troupe::sim {

class order_log {
 public:
  struct order {
    batch_id batch;
    term_id term;
    model_id model;
    time_point start_by;  ///< the worker's clock
    std::vector<request_id> requests;
    std::vector<uint64_t> inputs;  ///< hashes, one a request
  };

  void add(const batch_order& o) {
    order x{o.batch, o.term, o.model, o.start_by, {}, {}};
    for (const auto& r : o.requests) {
      x.requests.push_back(r.id);
      x.inputs.push_back(input_hash(r.id, r.input.size));
    }
    auto& mine = slots_[o.slot];
    mine.push_back(std::move(x));
    if (mine.size() > remembered) mine.pop_front();
  }

  /// The order that a slot executes when it starts with these inputs: of the orders that contain them all,
  /// the one with the latest term, then the latest `start_by`. Null: no such order.
  const order* find(slot_id slot, model_id model, const std::vector<uint64_t>& inputs) const {
    const order* found = nullptr;
    const auto mine = slots_.find(slot);
    if (mine == slots_.end()) return nullptr;
    for (const auto& o : mine->second) {
      if (o.model != model) continue;
      auto rest = o.inputs.begin();  // a batch keeps the order of its requests
      const bool all = std::all_of(inputs.begin(), inputs.end(), [&](uint64_t hash) {
        rest = std::find(rest, o.inputs.end(), hash);
        return rest != o.inputs.end();
      });
      const auto rank = [](const order& x) { return std::pair(x.term, x.start_by); };
      if (all && (found == nullptr || rank(o) > rank(*found))) found = &o;
    }
    return found;
  }

 private:
  static constexpr size_t remembered = 8;  // a worker holds at most four
  std::map<slot_id, std::deque<order>> slots_;
};

}  // namespace troupe::sim
