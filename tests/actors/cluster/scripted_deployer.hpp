// A deployer with scripted replies.
#pragma once
#include <caf/typed_behavior.hpp>

#include "actors/runtime/caf_types.hpp"

namespace troupe::test {

/// `frame` gets the frames of other nodes' deployers; `change` gets a command and returns the reply, or a
/// promise of it.
template <class Frame, class Change>
deployer_protocol::behavior_type scripted_deployer(Frame frame, Change change) {
  return {[](const introduction&) {},
          [frame](const control_frame& f) { frame(f); },
          [](const peer_change&) {},
          [](const new_incarnation&) {},
          [](const leadership&) {},
          [](const load_outcome&) {},
          [](const model_idle&) {},
          [](const files_settled&) {},
          [](const report_query&) {},
          [](wake_atom) {},
          [change](const deploy& c) { return change(c); },
          [change](const redeploy& c) { return change(c); },
          [change](const undeploy& c) { return change(c); },
          [change](const move_model& c) { return change(c); },
          [change](const drain_node& c) { return change(c); }};
}

}  // namespace troupe::test
