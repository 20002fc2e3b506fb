#include "config/triton/model_config_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace troupe;

namespace {

/// The first error; empty: none.
std::string problems_in(const std::string& text) {
  triton::model_config_text parsed;
  const auto wrong = triton::parse_model_config(text, "c", parsed);
  return wrong ? to_string(*wrong) : "";
}

}  // namespace

TEST_CASE("model config text: an unknown field is named with its place") {
  CHECK(problems_in("max_batch: 8\n") ==
        "c:1:10: Message type \"inference.ModelConfig\" has no field named \"max_batch\".");
  CHECK(problems_in("name: \"m\"\ninput [ { nam: \"x\" } ]") ==
        "c:2:14: Message type \"inference.ModelInput\" has no field named \"nam\".");
}

TEST_CASE("model config text: the forms of protobuf's text format are read") {
  CHECK(problems_in(R"(optimization : { graph : < level : 1 >, execution_accelerators {
  gpu_execution_accelerator : [ { name : "tensorrt", parameters { key: "a" value: "b" }, parameters { key: "c" } } ]
  cpu_execution_accelerator [ { name: 'open' "vino" } ] # both
} };
model_warmup [ { name: "w"; inputs: { key: "x", value: { dims: [ 1, 0x2 ], zero_data: true } } } ]
input [ { name: "x" dims: [ ] reshape: { shape: [ ] } } ])") == "");
}

TEST_CASE("model config text: the first error has its place") {
  CHECK(problems_in("name: \"m\"\nmax_batch_size: lots\n").starts_with("c:2:17: "));
  CHECK(problems_in("input [ {\n data_type: TYPE_FLOAT } ]")
            .starts_with("c:2:24: Unknown enumeration value of \"TYPE_FLOAT\""));
  CHECK(problems_in("name: \"a\" name: \"b\"").find("specified multiple times") != std::string::npos);
  CHECK(problems_in("input [ {").starts_with("c:1:"));
  CHECK(problems_in("dynamic_batching { } sequence_batching { }").starts_with("c:1:"));
}

TEST_CASE("model config text: hostile text ends with one message") {
  const std::string binary("\x08\x96\x01\0\xff\xfe", 6);
  for (const auto& text :
       {binary, std::string(100'000, '\0'), std::string(100'000, '['), std::string(100'000, '{')}) {
    CHECK(problems_in(text).starts_with("c:1:"));
    CHECK(problems_in(text).find('\n') == std::string::npos);
  }
  std::string deep, list = "parameters ", lists = "x: ";
  for (int i = 0; i < 100'000; ++i) deep += "a {", list += "{ x ", lists += "[";
  for (const auto& text : {deep, list, lists}) CHECK(problems_in(text).starts_with("c:1:"));
  CHECK(problems_in(std::string((1 << 20) + 1, ' ')) ==
        "c: has 1048577 bytes; a model configuration has at most 1048576");
}
