// serving_nodes tells an LLM gateway which engines are up, and which router to use.
#pragma once
#include <algorithm>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

inline constexpr node_id no_node{UINT32_MAX};

class serving_nodes {
 public:
  /// `engines`: by engine_id. `routers`: the nodes with routers; the first that is up is used.
  serving_nodes(std::vector<engine_spec> engines, std::vector<node_id> routers)
      : engines_(std::move(engines)), routers_(std::move(routers)) {}

  void on_node_up(node_id node, incarnation_id incarnation) {
    up_[node] = incarnation;
    if (router() != no_node) std::erase_if(returning_, [this](llm_id model) { return any_engine_up(model); });
  }
  /// False, and nothing changes, if this is not the incarnation that is up.
  bool on_node_down(node_id node, incarnation_id incarnation) {
    const auto it = up_.find(node);
    if (it == up_.end() || it->second != incarnation) return false;
    up_.erase(it);
    return true;
  }
  /// The own node begins a new incarnation: no node is up until its next node_up. What served a model until
  /// now is expected back, until `expected_until`.
  void clear(time_point expected_until) {
    expected_until_ = expected_until;
    if (router() != no_node)
      for (const auto& e : engines_)
        if (up(e.node)) returning_.insert(e.model);
    up_.clear();
  }

  bool up(node_id node) const { return up_.contains(node); }
  /// Also false for an unknown engine.
  bool up(engine_id id) const { return id.value < engines_.size() && up(engines_[id.value].node); }
  bool any_engine_up(llm_id model) const {
    return std::ranges::any_of(engines_,
                               [&](const engine_spec& e) { return e.model == model && up(e.node); });
  }
  /// Requests for the model can be accepted: a router and an engine are up, or expected.
  bool serves(llm_id model, time_point now) const {
    const bool expected = now < expected_until_ && returning_.contains(model);
    return expected || (router() != no_node && any_engine_up(model));
  }
  /// The router's node; `no_node`: none is up.
  node_id router() const {
    const auto it = std::ranges::find_if(routers_, [this](node_id n) { return up(n); });
    return it == routers_.end() ? no_node : *it;
  }

  size_t engine_count() const { return engines_.size(); }
  const engine_spec& engine(engine_id id) const { return engines_[id.value]; }
  address address_of(engine_id id) const { return {engine(id).node, {}, role::llm_engine, id.value}; }

 private:
  const std::vector<engine_spec> engines_;
  const std::vector<node_id> routers_;
  std::unordered_map<node_id, incarnation_id> up_;
  std::set<llm_id> returning_;            ///< models that were served before `clear`, and not since
  time_point expected_until_ = long_ago;  ///< of all that return
};

}  // namespace troupe
