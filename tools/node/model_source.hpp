#pragma once
#include "gpu/device/device.hpp"
#include "messages/deployment/model_spec.hpp"

namespace troupe {

/// What devices load for a model of the cluster.
model_source source_of(const model_spec& m);

}  // namespace troupe
