#include "actors/operator/console_command.hpp"

#include <doctest/doctest.h>

#include "actors/kinds/registry.hpp"

using namespace troupe;

namespace {

std::variant<console_command, std::string> read(const std::string& argument) {
  cluster_spec cluster;
  cluster.nodes.resize(1);
  cluster.nodes[0].name = "head";
  cluster.nodes[0].roles = {node_role::scheduler, node_role::gateway};
  const auto model = [](std::string_view called) {
    return called == "mlp" ? std::optional(model_id{3}) : std::nullopt;
  };
  return read_order({7, "ask", argument}, cluster, {model, may_run_on});
}

std::string why_not(const std::string& argument) {
  const auto r = read(argument);
  return std::holds_alternative<std::string>(r) ? std::get<std::string>(r) : "";
}

}  // namespace

TEST_CASE("console order: it has an actor and a command of the actor's kind") {
  const auto r = read(R"({"actor": "model_queue/mlp", "type": "set_slo", "fields": {"slo": 5}})");
  REQUIRE(std::holds_alternative<console_command>(r));
  const auto& o = std::get<console_command>(r);
  CHECK(o.to == address{node_id{0}, {}, role::model_queue, 3});
  CHECK(o.actor == "model_queue/mlp");
  CHECK(o.what.verb == "set_slo");
  CHECK(o.what.argument == R"({"slo":5})");
  CHECK(why_not(R"({"actor": "gateway", "type": "get_state"})").empty());
}

TEST_CASE("console order: an invalid order is reported in one sentence") {
  const std::string form = R"(ask: must be {"actor": NAME, "type": COMMAND, "fields": {...}})";
  for (const char* text : {"", "nonsense", "[]", "3", "{}", R"({"actor": 1, "type": "get_state"})",
                           R"({"actor": "gateway"})", R"({"actor": "", "type": "get_state"})"})
    CHECK(why_not(text) == form);
  CHECK(why_not(std::string(100'000, '[')) == form);
  CHECK(why_not(R"({"actor": "gatway", "type": "get_state"})").find("did you mean 'gateway'?") !=
        std::string::npos);
  CHECK(why_not(R"({"actor": "gateway", "type": "dance"})").find("there is no command 'dance'") !=
        std::string::npos);
  CHECK(why_not(R"({"actor": "gateway", "type": "list_requests", "fields": {"limit": "x"}})")
            .find("list_requests.limit") != std::string::npos);
  CHECK_FALSE(why_not(R"({"actor": "gateway", "type": "get_state", "fields": [1]})").empty());
}
