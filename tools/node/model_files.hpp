// The files of a cluster's models, read as workers and gateways read them before they load a model: without
// running, measuring or keeping anything.
#pragma once
#include <vector>

#include "config/cluster_file.hpp"
#include "config/problem.hpp"

namespace troupe {

struct model_file_findings {
  std::vector<problem> problems;  ///< models that nodes would refuse, by their place in the cluster file
  std::vector<problem> warnings;  ///< models that are served without a part of their API
};

/// Reads the ONNX file of each model and plans its batches, and reads the folder of each language model:
/// configuration, tokenizer, chat template and, unless its device is emulated, the shapes of its weights.
/// Requires: the reading is ok.
model_file_findings check_model_files(const cluster_reading& cluster);

}  // namespace troupe
