// Names of the models whose weights travel, for answers and metrics.
#pragma once
#include <map>
#include <string>

#include "messages/cluster/cluster.hpp"
#include "messages/deployment/events.hpp"

namespace troupe {

class weights_names {
 public:
  /// `cluster` outlives it.
  explicit weights_names(const cluster_spec& cluster) : cluster_(cluster) {}

  /// Tensor models get their names from the deployment log.
  void learn(const model_change& c) { models_[c.line.model] = c.line.definition.name; }

  std::string of(weights_id w) const {
    if (!are_model_files(w)) return cluster_.llms[w.value].name;
    const auto known = models_.find(model_of(w));
    return known == models_.end() ? std::string() : known->second;
  }

 private:
  const cluster_spec& cluster_;
  std::map<model_id, std::string> models_;
};

}  // namespace troupe
