// Events of this subject on the own node (rules: actors/runtime/events.hpp).
#pragma once
#include <cstdint>

#include "messages/common/ids.hpp"
#include "messages/deployment/deployment.hpp"

namespace troupe {

/// The deployment log's line of a model has changed to this one.
struct model_change {
  deployment line;
  TROUPE_MESSAGE(model_change, line)
};

/// To the own deployer: `who` no longer uses the model. From a gateway: it has answered all requests for a
/// retiring model. From a worker: its device has unloaded the model. From a model queue: no batch runs in the
/// domain that the model left.
struct model_idle {
  model_id model;
  uint64_t revision = 0;  ///< of the line that retired, undeployed or moved it
  address who;
  TROUPE_MESSAGE(model_idle, model, revision, who)
};

using deployment_events = type_list<model_change, model_idle>;

}  // namespace troupe
