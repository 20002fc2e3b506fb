#pragma once
#include "gpu/device/device.hpp"
#include "messages/deployment/model_spec.hpp"

namespace troupe {

/// What devices load for a model of the cluster.
model_source source_of(const model_spec& m);

/// Why its `preprocess` does not fit what a device has loaded; empty: it does.
std::string images_problem(const model_spec& m, const model_signature& signature);

}  // namespace troupe
