// Commands for the actor of a stage, and their typed replies.
#pragma once
#include <nlohmann/json.hpp>

#include "messages/wire/json.hpp"
#include "tests/actors/stage.hpp"

namespace troupe::test {

template <class Reply, class Stage, class Command>
Reply run_command(Stage& by, const Command& c) {
  const auto r = by.actor.on_command({1, Command::type_name, to_json(c).dump()}, by.now);
  REQUIRE_MESSAGE(r.ok, r.body);
  return from_json<Reply>(nlohmann::json::parse(r.body));
}

}  // namespace troupe::test
