#include "messages/commands/run_command.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "messages/commands/command_schema.hpp"
#include "messages/tensor/commands.hpp"

using namespace troupe;

namespace {

/// A queue that accepts all commands but pausing.
command_reply ask(const std::string& type, const std::string& fields, set_slo* heard = nullptr) {
  struct handler {
    set_slo* heard;
    queue_state operator()(const get_state&) const { return {}; }
    open_requests operator()(const list_requests&) const { return {}; }
    acknowledged operator()(const pause_batching&) const { throw command_refused("not now"); }
    acknowledged operator()(const resume_batching&) const { return {}; }
    acknowledged operator()(const set_slo& s) const {
      if (heard != nullptr) *heard = s;
      return {};
    }
    acknowledged operator()(const set_batching&) const { return {}; }
    request_story operator()(const explain_request&) const { return {}; }
    acknowledged operator()(const set_decision_log&) const { return {}; }
  };
  return run_command(model_queue_commands{}, command{7, type, fields}, handler{heard});
}

}  // namespace

TEST_CASE("run_command: a command reaches its handler, and the result is the reply") {
  set_slo heard;
  const auto r = ask("set_slo", R"({"slo": 5000000})", &heard);
  CHECK(r.ok);
  CHECK(r.token == 7);
  CHECK(r.body == "{}");
  CHECK(heard.slo == 5ms);
  CHECK(nlohmann::json::parse(ask("get_state", "").body)["queued_rows"] == 0);
}

TEST_CASE("run_command: an invalid command is refused with the position of its problem, and has no effect") {
  set_slo heard{1ms};
  const auto problem = [&](const char* type, const char* fields) {
    const auto r = ask(type, fields, &heard);
    CHECK_FALSE(r.ok);
    return r.body;
  };
  CHECK(problem("set_slo", R"({"slo": "soon"})").starts_with("set_slo.slo: must be an integer in "));
  CHECK(problem("set_slo", "{}") == "set_slo.slo: missing");
  CHECK(problem("set_slo", R"({"slo": 1, "slow": 2})") == "set_slo.slow: unknown field");
  CHECK(problem("set_slo", "[]") == "set_slo: must be an object");
  CHECK(problem("set_slo", "{") == "set_slo: its fields are not JSON, or are nested too deeply");
  CHECK(problem("set_batching", R"({"batching": "eager", "shedding": 3})") ==
        "set_batching.shedding: must be a string");
  CHECK(problem("pause_batching", "") == "not now");
  CHECK(problem("stop", "") ==
        "there is no command 'stop'; the actor takes: get_state, list_requests, pause_batching, "
        "resume_batching, set_slo, "
        "set_batching, explain_request, set_decision_log");
  CHECK(heard.slo == 1ms);
}

TEST_CASE("command_schema: lists fields, types, units and replies of the commands of every kind") {
  for (size_t i = 0; i < role_count; ++i) CHECK(command_schema(static_cast<role>(i)).is_object());
  const auto queue = command_schema(role::model_queue);
  CHECK(queue["set_slo"]["fields"][0]["name"] == "slo");
  CHECK(queue["set_slo"]["fields"][0]["type"] == "integer");
  CHECK(queue["set_slo"]["fields"][0]["unit"] == "ns");
  const auto worker = command_schema(role::gpu_worker);
  CHECK(worker["get_state"]["reply"][2]["of"]["fields"][1]["unit"] == "bytes");
  CHECK(problem_with(role::model_queue, {0, "pause_batching", ""}).empty());
  CHECK(problem_with(role::deployer, {0, "undeploy", R"({"name": "m", "wait": 0})"}).empty());  // no token
  CHECK(problem_with(role::model_queue, {0, "take_slot_out", ""})
            .starts_with("there is no command 'take_slot_out'"));
}
