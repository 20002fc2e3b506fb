// `troupe scale` and `troupe parameters`: instances of language models in a running cluster, and the copies
// of their weights.
#pragma once
#include <cstdint>
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct scale_options {
  std::string model;
  uint32_t instances = 0;
  uint32_t prefill = 0;  ///< of these, of a model that is disaggregated
  bool dry_run = false;  ///< only say what would happen
  double wait_s = 600;   ///< until all instances serve; 0: return at once
  bool json = false;
};

/// Prints lines or one JSON document. Returns 0 if the model has as many instances (with dry_run or without
/// a wait: if the order is valid), 1 if not, 2 for a model or number that the file does not allow.
int scale_instances(const cluster_spec& cluster, const scale_options& options);

/// Prints the copies of a model's weights, or of all models' (`model` empty): their node, its instances, and
/// how much is there; and the measured rates of links and disks. Returns 0, 1 if no leader answers, 2 for an
/// unknown model.
int list_parameters(const cluster_spec& cluster, const std::string& model, bool json);

}  // namespace troupe
