#include "transport/openai/lora_adapter.hpp"

#include <doctest/doctest.h>

#include "tests/transport/openai/refusal.hpp"

namespace troupe::openai {
namespace {

TEST_CASE("an adapter is loaded by name and path, and unloaded by name") {
  const auto load =
      parse_load_adapter(R"({"lora_name": "sql", "lora_path": "/adapters/sql", "lora_int_id": 1})");
  REQUIRE(load);
  CHECK(load->name == "sql");
  CHECK(load->path == "/adapters/sql");
  CHECK(*parse_unload_adapter(R"({"lora_name": "sql", "lora_int_id": null})") == "sql");
}

TEST_CASE("adapters without a proper name or path are refused") {
  CHECK(blamed(parse_load_adapter(R"({"lora_path": "p"})")) == "lora_name");
  CHECK(blamed(parse_load_adapter(R"({"lora_name": "n"})")) == "lora_path");
  CHECK(blamed(parse_load_adapter(R"({"lora_name": "n", "lora_path": null})")) == "lora_path");
  CHECK(blamed(parse_unload_adapter("{}")) == "lora_name");
  const std::string bad[] = {"1",           "\"\"",    "\"a\\nb\"",
                             "\"\\u0000\"", "\"a,b\"", "\"" + std::string(257, 'x') + "\""};
  for (const auto& name : bad) {
    CHECK(blamed(parse_load_adapter(R"({"lora_path": "p", "lora_name": )" + name + "}")) == "lora_name");
    CHECK(blamed(parse_unload_adapter(R"({"lora_name": )" + name + "}")) == "lora_name");
  }
  CHECK(blamed(parse_load_adapter(R"({"lora_name": "n", "lora_path": "a\u0000b"})")) == "lora_path");
  CHECK(refusal(parse_unload_adapter("nonsense")).starts_with(" | malformed JSON"));
}

}  // namespace
}  // namespace troupe::openai
