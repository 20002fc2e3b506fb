// A stage whose actor takes commands.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "messages/commands/commands.hpp"
#include "messages/wire/json.hpp"
#include "tests/actors/stage.hpp"

namespace troupe::test {

/// Gives commands to the actor as its CAF host does.
template <class Actor>
struct command_stage : stage<Actor> {
  using stage<Actor>::stage;
  command_reply order(const char* type, const std::string& fields = {}) {
    const auto r = this->actor.on_command({1, type, fields}, this->now);
    this->actor.on_time(this->now);
    return r;
  }
  template <class Reply>
  Reply ask(const char* type, const std::string& fields = {}) {
    const auto r = order(type, fields);
    REQUIRE_MESSAGE(r.ok, r.body);
    return from_json<Reply>(nlohmann::json::parse(r.body));
  }
};

}  // namespace troupe::test
