#include <doctest/doctest.h>

#include "tests/config/cluster_text.hpp"

using namespace troupe;

namespace {

/// Four places on two workers.
cluster_reading with_phases(std::string_view keys) {
  return read(std::string(good_cluster) + R"([[node]]
name = "other"
roles = ["worker"]
control_port = 7703
[[llm]]
name = "tasks"
model = "../llama-tasks/base"
nodes = ["worker", "other"]
engines_per_node = 2
)" + std::string(keys));
}

std::string wrong_phases(std::string_view keys) {
  std::string out;
  for (const auto& p : with_phases(keys).problems) out += (out.empty() ? "" : "\n") + p.text;
  return out;
}

}  // namespace

TEST_CASE("phases: without the key every engine takes whole requests") {
  const auto c = with_phases("");
  REQUIRE(c.ok());
  for (const auto& e : c.spec.engines) CHECK(e.phase == instance_phase::both);
  CHECK(to_toml(c.effective).find("disaggregated") == std::string::npos);
}

TEST_CASE("phases: the first engines prefill, the others decode") {
  const auto c = with_phases("disaggregated = { prefill = 1, decode = 3 }");
  REQUIRE_MESSAGE(c.ok(), listed(c.problems));
  CHECK(c.spec.llms.at(0).prefill_instances == 1);
  CHECK(c.spec.llms.at(0).decode_instances == 3);
  REQUIRE(c.spec.engines.size() == 4);
  CHECK(c.spec.engines[0].phase == instance_phase::prefill);
  for (size_t i = 1; i < 4; ++i) CHECK(c.spec.engines[i].phase == instance_phase::decode);
  CHECK(c.spec.hash != with_phases("disaggregated = { prefill = 2, decode = 2 }").spec.hash);
}

TEST_CASE("phases: numbers that do not fit are refused with the fix") {
  CHECK(wrong_phases("disaggregated = { prefill = 1, decode = 1 }") ==
        "llm.disaggregated: prefill + decode must be 4, the places of the model (its nodes times "
        "engines_per_node), not 1 + 1");
  CHECK(wrong_phases("disaggregated = { prefill = 3, decode = 2 }") ==
        "llm.disaggregated: prefill + decode must be 4, the places of the model (its nodes times "
        "engines_per_node), not 3 + 2");
  CHECK(wrong_phases("disaggregated = { prefill = 0, decode = 4 }") ==
        "llm.disaggregated.prefill: must be an integer in 1..1048576, not 0");
  CHECK(wrong_phases("disaggregated = { prefill = 4 }") ==
        "llm.disaggregated.decode: is missing; it must be an integer in 1..1048576");
  CHECK(wrong_phases("disaggregated = 4").find("llm.disaggregated: must be a table") == 0);
  CHECK(wrong_phases("disaggregated = { prefill = 1, decode = 3, both = 1 }") ==
        "llm.disaggregated: unknown key 'both'; known: prefill, decode");
}

TEST_CASE("phases: of a model that scales they are those at the start") {
  const auto c =
      with_phases("max_instances = 4\nmin_instances = 2\ndisaggregated = { prefill = 1, decode = 2 }");
  REQUIRE_MESSAGE(c.ok(), listed(c.problems));
  const auto& m = c.spec.llms.at(0);
  CHECK(m.scales);
  CHECK(m.instances == 3);
  CHECK(m.prefill_instances == 1);
  for (const auto& e : c.spec.engines) CHECK(e.phase == instance_phase::prefill);
  CHECK(wrong_phases("max_instances = 3\ndisaggregated = { prefill = 2, decode = 2 }") ==
        "llm.disaggregated: prefill + decode must be at most 3, the most instances of the model, not 2 + 2; "
        "lower "
        "them, or add places or raise max_instances");
  CHECK(wrong_phases("min_instances = 3\ndisaggregated = { prefill = 1, decode = 1 }") ==
        "llm.disaggregated: prefill + decode must be at least min_instances = 3, not 1 + 1");
  CHECK(wrong_phases("instances = 3\ndisaggregated = { prefill = 1, decode = 1 }") ==
        "llm.instances: must be 1 + 1 of disaggregated, not 3; remove this key");
  const auto half = with_phases(
      "max_instances = 4\ndisaggregated = { prefill = 1, decode = 1 }\n[scaling]\npolicy = \"static_full\"");
  REQUIRE_MESSAGE(half.ok(), listed(half.problems));
  CHECK(half.spec.llms.at(0).prefill_instances == 2);
  CHECK(half.spec.llms.at(0).decode_instances == 2);
}
