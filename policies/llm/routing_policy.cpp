#include "policies/llm/routing_policy.hpp"

#include <algorithm>
#include <tuple>

namespace troupe {
namespace {

/// The index of the load with the greatest `rank`.
template <class Rank>
size_t greatest(std::span<const engine_load> loads, Rank&& rank) {
  return static_cast<size_t>(std::ranges::max_element(loads, {}, rank) - loads.begin());
}

class punica final : public routing_policy {
 public:
  size_t choose(bool, std::span<const engine_load> loads) override {
    return greatest(loads, [](const engine_load& e) { return std::tuple(e.sequences, e.id); });
  }
};

auto affinity_rank(const engine_load& e, bool with_adapter) {
  const bool no_matter = !with_adapter || e.has_adapter;
  const bool unused = no_matter || e.unused_slot, free = no_matter || e.free_slot;
  const auto crowd = unused ? int64_t{0} : -int64_t{e.adapters};
  return std::tuple(no_matter, unused, free, crowd, e.sequences, e.id);
}

class affinity final : public routing_policy {
 public:
  size_t choose(bool with_adapter, std::span<const engine_load> loads) override {
    return greatest(loads, [with_adapter](const engine_load& e) { return affinity_rank(e, with_adapter); });
  }
};

class prefix_routing final : public routing_policy {
 public:
  size_t choose(bool with_adapter, std::span<const engine_load> loads) override {
    return greatest(loads, [with_adapter](const engine_load& e) {
      return std::pair(-static_cast<int64_t>(e.to_compute / equal_tokens), affinity_rank(e, with_adapter));
    });
  }

 private:
  static constexpr uint64_t equal_tokens = 64;  // within a multiple of this, costs count as equal
};

class least_loaded final : public routing_policy {
 public:
  size_t choose(bool, std::span<const engine_load> loads) override {
    return static_cast<size_t>(std::ranges::min_element(loads, {}, &engine_load::sequences) - loads.begin());
  }
};

class round_robin final : public routing_policy {
 public:
  size_t choose(bool, std::span<const engine_load> loads) override {
    const auto next = std::ranges::upper_bound(loads, last_, {}, &engine_load::id);
    const auto chosen = next == loads.end() ? loads.begin() : next;
    last_ = chosen->id;
    return static_cast<size_t>(chosen - loads.begin());
  }

 private:
  engine_id last_ = no_engine;
};

template <class Routing>
std::unique_ptr<routing_policy> make_routing() {
  return std::make_unique<Routing>();
}

}  // namespace

registry<routing_policy_factory>& routing_policies() {
  static registry<routing_policy_factory> known{{"punica", make_routing<punica>},
                                                {"affinity", make_routing<affinity>},
                                                {"prefix", make_routing<prefix_routing>},
                                                {"least_loaded", make_routing<least_loaded>},
                                                {"round_robin", make_routing<round_robin>}};
  return known;
}

}  // namespace troupe
