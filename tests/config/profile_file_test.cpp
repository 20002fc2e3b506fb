#include "config/profile_file.hpp"

#include <doctest/doctest.h>

#include "tests/config/cluster_text.hpp"

using namespace troupe;

namespace {

std::string profile_problems(std::string_view csv) {
  return listed(read_profile_text(csv, "p.csv").problems);
}

}  // namespace

TEST_CASE("profiles are read with the place of each") {
  const auto r = read_profile_text(
      "model,alpha_ms,beta_ms,slo_ms\r\nResNet50, 2.05 ,5.378,27\r\n\r\nBERT,7,0.159,56", "p.csv");
  CHECK(r.problems.empty());
  REQUIRE(r.profiles.size() == 2);
  CHECK(r.profiles[0].name == "ResNet50");
  CHECK(r.profiles[0].latency == latency_model{2050us, 5378us});
  CHECK(r.profiles[0].slo == 27ms);
  CHECK(r.profiles[1].latency == latency_model{7ms, 159us});
  CHECK(r.profiles[1].where == file_position{"p.csv", 4, 1});
}

TEST_CASE("the SLO column may be absent") {
  const auto r = read_profile_text("model,alpha_ms,beta_ms\nm,1,2\n", "p.csv");
  CHECK(r.problems.empty());
  REQUIRE(r.profiles.size() == 1);
  CHECK(!r.profiles[0].slo);
}

TEST_CASE("every bad cell is named with its place") {
  CHECK(profile_problems("") ==
        "p.csv:1:1: the first line must be model,alpha_ms,beta_ms or model,alpha_ms,beta_ms,slo_ms\n");
  CHECK(profile_problems("model;alpha_ms\nm;1") ==
        "p.csv:1:1: the first line must be model,alpha_ms,beta_ms or model,alpha_ms,beta_ms,slo_ms\n");
  CHECK(profile_problems("model,alpha_ms,beta_ms\nm,1\nn,x,-2\nn,1e999,nan\n,1,2\np,0,0\nq,1,2\nq,1,2\n") ==
        "p.csv:2:1: must have 3 values, not 2\n"
        "p.csv:3:3: alpha_ms: must be milliseconds in 0..3600000, not \"x\"\n"
        "p.csv:3:5: beta_ms: must be milliseconds in 0..3600000, not \"-2\"\n"
        "p.csv:4:1: model: \"n\" is listed twice; remove one\n"
        "p.csv:4:3: alpha_ms: must be milliseconds in 0..3600000, not \"1e999\"\n"
        "p.csv:4:9: beta_ms: must be milliseconds in 0..3600000, not \"nan\"\n"
        "p.csv:5:1: model: is empty; give the model's name\n"
        "p.csv:6:3: alpha_ms: alpha_ms and beta_ms cannot both be 0\n"
        "p.csv:8:1: model: \"q\" is listed twice; remove one\n");
}

TEST_CASE("the profiles that come with Troupe are right") {
  for (const auto& [file, count] : {std::pair{"1080ti.csv", 35}, {"a100.csv", 37}}) {
    const auto r = read_profiles(std::string{TROUPE_EXAMPLES "/profiles/"} + file);
    CHECK(r.problems.empty());
    CHECK(r.profiles.size() == static_cast<size_t>(count));
  }
}
