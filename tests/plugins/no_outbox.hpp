// An outbox for actors whose messages are not tested.
#pragma once
#include "actors/runtime/actor.hpp"

namespace troupe {

struct no_outbox final : outbox {
  void send(const address&, const address&, actor_message) override {}
};

}  // namespace troupe
