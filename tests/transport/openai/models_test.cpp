#include "transport/openai/models.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace troupe::openai {
namespace {

using nlohmann::json;

TEST_CASE("adapters are listed with their base model") {
  const std::chrono::sys_seconds created(std::chrono::seconds(12));
  const model_card models[] = {{"llama", "/models/llama", {}, created, 4096},
                               {"sql\"", "", "llama", created, 0}};
  CHECK(json::parse(format_models(models)) == json::parse(R"({"object": "list", "data": [
    {"id": "llama", "object": "model", "created": 12, "owned_by": "troupe", "root": "/models/llama", "parent": null,
     "max_model_len": 4096},
    {"id": "sql\"", "object": "model", "created": 12, "owned_by": "troupe", "root": "sql\"", "parent": "llama",
     "max_model_len": null}]})"));
  CHECK(json::parse(format_model(models[1])) == json::parse(format_models(models))["data"][1]);
  CHECK(json::parse(format_models({})) == json::parse(R"({"object": "list", "data": []})"));
}

}  // namespace
}  // namespace troupe::openai
