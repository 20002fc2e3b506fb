// The documents of Triton's extensions to KServe V2: model configuration, statistics, repository index.
#pragma once
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "actors/frontend/inference_statistics.hpp"
#include "actors/tensor/catalog.hpp"

namespace troupe {

/// GET /v2/models/{model}/config
std::string format_model_config(const catalog::entry& model);

/// POST /v2/repository/index; `ready_only` leaves out models without a worker, and all that are closed.
std::string format_repository_index(const std::vector<catalog::view>& models,
                                    const std::vector<catalog::closed_model>& closed, bool ready_only);

/// GET /v2/models/stats and /v2/models/{model}/stats. `unix_epoch`: the Unix epoch as a time of this node's
/// clock.
std::string format_statistics(const std::vector<std::pair<std::string, model_statistics>>& models,
                              time_point unix_epoch);

}  // namespace troupe
