#include "config/multicast_file.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace troupe;

namespace {

nlohmann::json good() {
  return nlohmann::json::parse(R"({
    "bytes": 14e9, "chunks": 32, "lanes": 2,
    "sources": [{"name": "S", "busy": true, "kind": "host"}, {"name": "c0"}],
    "targets": ["T1", "c1"],
    "gbit_per_s": {"S": {"T1": 100, "c1": 50.5}, "T1": {"c1": 25}},
    "half_rate": ["T1"], "domains": [["c0", "c1"]], "domain_gbit_per_s": 1600})");
}

std::string problem_of(const nlohmann::json& document) {
  try {
    read_multicast(document.dump());
  } catch (const multicast_file_error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a multicast file gives its nodes, rates and domains") {
  const auto p = read_multicast(good().dump());
  CHECK(p.bytes == 14e9);
  CHECK(p.chunks == 32);
  CHECK(p.lanes == 2);
  CHECK(p.sources == 2);
  REQUIRE(p.nodes.size() == 4);
  CHECK(p.nodes[0].name == "S");
  CHECK(p.nodes[0].busy);
  CHECK(!p.nodes[1].busy);
  CHECK(p.nodes[2].half_rate);
  CHECK(p.nodes[1].domain == p.nodes[3].domain);
  CHECK(p.nodes[0].domain == no_scale_up_domain);
  CHECK(p.rate(0, 2) == 100);
  CHECK(p.rate(0, 3) == 50.5);
  CHECK(p.rate(2, 3) == 25);
  CHECK(p.rate(2, 0) == 0);
  CHECK(p.domain_gbit_per_s == 1600);
}

TEST_CASE("chunks and lanes are 1 where a multicast file has none") {
  auto document = good();
  document.erase("chunks");
  document.erase("lanes");
  const auto p = read_multicast(document.dump());
  CHECK(p.chunks == 1);
  CHECK(p.lanes == 1);
}

TEST_CASE("a bad multicast file gets a message with the place") {
  CHECK_THROWS_WITH(read_multicast("{"), "it is not a JSON document, or it is nested too deeply");
  CHECK_THROWS_WITH(read_multicast("[]"), "the description of a multicast is a JSON object");
  using json = nlohmann::json;
  const std::vector<std::pair<json, std::string>> cases{
      {{{"chunk", 3}}, "there is no key \"chunk\""},
      {{{"bytes", nullptr}}, "\"bytes\" is missing"},
      {{{"bytes", -1}}, "bytes: -1 is not a number from 1"},
      {{{"chunks", 1.5}}, "chunks: 1.5 is not a whole number"},
      {{{"chunks", 0}}, "chunks: 0 is not a number from 1"},
      {{{"lanes", "2"}}, "lanes: \"2\" is not a number"},
      {{{"sources", json::array()}}, "sources: a multicast needs a source"},
      {{{"sources", {"S"}}}, "sources[0]: a source is an object"},
      {{{"sources", {{{"name", ""}}}}}, "sources[0].name: \"\" is not a name"},
      {{{"sources", {{{"name", "S"}, {"busy", 1}}}}}, "sources[0].busy: 1 is not true or false"},
      {{{"sources", {{{"name", "S"}, {"kind", "tpu"}}}}},
       "sources[0].kind: \"tpu\" is not \"gpu\" or \"host\""},
      {{{"targets", json::array()}}, "targets: a multicast needs a target"},
      {{{"targets", {"T1", "S"}}}, "targets[1]: \"S\" is named twice"},
      {{{"gbit_per_s", 100}}, "gbit_per_s: rates are an object"},
      {{{"gbit_per_s", {{"S", {{"T9", 100}}}}}}, "gbit_per_s.S.T9: no source or target is named \"T9\""},
      {{{"gbit_per_s", {{"X", {{"T1", 100}}}}}}, "gbit_per_s.X: no source or target is named \"X\""},
      {{{"gbit_per_s", {{"S", {{"T1", -1}}}}}}, "gbit_per_s.S.T1: -1 is not a number from 0"},
      {{{"half_rate", {"S"}}}, "half_rate: \"S\" is a source"},
      {{{"domains", {{"c0"}, {"c0"}}}}, "domains[1]: \"c0\" is in domains[0] already"},
      {{{"gbit_per_s", {{"S", {{"T1", 1e-9}}}}}}, "gbit_per_s: the slowest link is too slow"},
      {{{"domain_gbit_per_s", nullptr}}, "\"domain_gbit_per_s\" is missing"},
  };
  for (const auto& [change, message] : cases) {
    auto document = good();
    document.merge_patch(change);
    if (change.contains("sources") || change.contains("targets")) document["gbit_per_s"] = json::object();
    CAPTURE(message);
    const auto got = problem_of(document);
    CAPTURE(got);
    CHECK(got.starts_with(message));
  }
}
