// ui_snapshot folds the answers of a cluster's actors into one document for the page of a gateway (/ui).
// Pure.
#pragma once
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/commands/commands.hpp"

namespace troupe {

/// The answers of one round. Actors that did not answer are missing.
struct ui_sample {
  struct node {
    std::string state;  ///< as in `peer_state`
    incarnation_id incarnation;
    /// By name, and by model, slot or engine; summed over all other labels.
    std::map<std::pair<std::string, std::string>, double> metrics;

    using labels = std::span<const std::pair<std::string, std::string>>;
    void add(const std::string& name, labels of, double value);
    /// A metric as a metrics actor reports it.
    void add(const metric_value& f);
  };
  time_point at{};
  std::string gateway;                           ///< the node that asked
  std::map<std::string, node> nodes;             ///< by name
  std::map<uint32_t, past_batches> batches;      ///< by slot: those since the previous sample
  std::map<uint32_t, llm_engine_state> engines;  ///< by engine_id
  std::map<uint32_t, adapter_list> adapters;     ///< likewise
  std::map<model_id, std::string> models;        ///< served ones
};

class ui_snapshot {
 public:
  /// `cluster` outlives it.
  explicit ui_snapshot(const cluster_spec& cluster) : cluster_(cluster) {}

  /// Rates are over the last `window`; null until there are two samples of one incarnation of a node to
  /// compare.
  static constexpr duration window = 2s;

  /// {"at_s", "cluster", "gateway", "nodes", "slots", "models", "llms", "engines"} (docs/operations.md).
  /// Samples come in the order of their times.
  nlohmann::ordered_json fold(ui_sample now);

 private:
  nlohmann::ordered_json rate(const ui_sample& now, const std::string& name, const std::string& of) const;
  nlohmann::ordered_json mean_ms(const ui_sample& now, const std::string& name, const std::string& of) const;
  nlohmann::ordered_json node_of(const ui_sample& now, const node_spec& spec) const;
  nlohmann::ordered_json slot_of(const ui_sample& now, uint32_t slot) const;
  nlohmann::ordered_json model_of(const ui_sample& now, const std::string& name) const;
  nlohmann::ordered_json llm_of(const ui_sample& now, const std::string& llm) const;
  nlohmann::ordered_json engine_of(const ui_sample& now, uint32_t engine) const;
  std::string name_of(const ui_sample& now, model_id model) const;

  const cluster_spec& cluster_;
  std::deque<ui_sample> before_;  ///< the last window's, oldest first
};

}  // namespace troupe
