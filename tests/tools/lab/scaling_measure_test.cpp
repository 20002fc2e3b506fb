#include "tools/lab/scaling_measure.hpp"

#include <doctest/doctest.h>

#include "tests/tools/lab/problems.hpp"
#include "tools/lab/measures.hpp"

using namespace troupe;
using namespace troupe::lab;

namespace {

const std::string scaling_head =
    "[experiment]\ntitle = 'x'\nmeasure = 'scaling'\npolicies = ['blitz', 'serverless']\n";

/// Cluster A of BlitzScale's Table 1, with chunks that are few.
scenario cluster_a(uint32_t to, uint32_t per_domain) {
  scenario s;
  s.scaling.emplace();
  auto& t = *s.scaling;
  t.network_gbit_per_s = 100;
  t.scale_up_gbit_per_s = 1600;
  t.host_gbit_per_s = 128;
  t.ssd_gbit_per_s = 10;
  t.to = to;
  t.per_domain = per_domain;
  t.chunk_mib = 32;
  return s;
}

const auto about_s = [](double x) { return doctest::Approx(x).epsilon(0.05); };

}  // namespace

TEST_CASE("scaling measure: weights arrive at the rate of their source, and come from nowhere else") {
  const auto s = cluster_a(2, 1);
  struct expected {
    std::string policy;
    std::string moved;
    double seconds;
  };
  for (const auto& [policy, moved, seconds] :
       {expected{"network", "network_gb", 1.12}, expected{"scale_up", "scale_up_gb", 0.07},
        expected{"host", "host_gb", 0.875}, expected{"ssd", "ssd_gb", 11.2}}) {
    CAPTURE(policy);
    const auto m = measure_scaling(s, policy, 1).metrics;
    CHECK(m.at("line_s") == doctest::Approx(seconds));
    CHECK(m.at("weights_s") > 0.999 * seconds);
    CHECK(m.at("weights_s") < 1.1 * seconds + 0.1);  // orders and inventories
    CHECK(m.contains("planned_s") == (policy != "host"));
    if (policy != "host") CHECK(m.at("planned_s") == doctest::Approx(seconds).epsilon(0.01));
    CHECK(m.at("ready_s") >= m.at("weights_s"));
    CHECK(m.at("ready_s") < m.at("weights_s") + 0.15);
    for (const auto* way : {"network_gb", "scale_up_gb", "host_gb", "ssd_gb"})
      CHECK(m.at(way) == doctest::Approx(way == moved ? 14 : 0).epsilon(0.001));
  }
}

TEST_CASE("scaling measure: GPUs of an instance share its weights") {
  auto s = cluster_a(2, 1);
  s.scaling->model_gb = 140;
  s.scaling->gpus = 4;
  CHECK(measure_scaling(s, "ssd", 1).value == about_s(28));
  CHECK(measure_scaling(s, "network", 1).value == about_s(2.8));
}

TEST_CASE("scaling measure: a scale-up domain is ready long before the network is done") {
  const auto s = cluster_a(8, 4);
  const auto blitz = measure_scaling(s, "blitz", 1);
  CHECK(blitz.metrics.at("domain_ready_s") < 0.5);
  CHECK(blitz.value == about_s(1.2));
  CHECK(blitz.metrics.at("network_gb") == doctest::Approx(14).epsilon(0.01));  // once, to the other domain
  CHECK(blitz.metrics.at("scale_up_gb") == doctest::Approx(6 * 14).epsilon(0.01));
  CHECK(blitz.tables.at(0).rows.size() == 8);
  const auto serverless = measure_scaling(s, "serverless", 1);
  CHECK(serverless.metrics.at("domain_ready_s") == about_s(0.95));
  CHECK(serverless.value == about_s(11.2));
  CHECK(serverless.metrics.at("host_gb") == doctest::Approx(3 * 14).epsilon(0.01));
  CHECK(serverless.metrics.at("ssd_gb") == doctest::Approx(4 * 14).epsilon(0.01));
}

TEST_CASE("scaling measure: the same seed gives the same times") {
  const auto s = cluster_a(4, 2);
  CHECK(measure_scaling(s, "blitz", 5).metrics == measure_scaling(s, "blitz", 5).metrics);
}

TEST_CASE("scaling measure: a file gives the cluster, and problems have a place") {
  const std::string rates =
      "[scaling]\nnetwork_gbit_per_s = 100\nscale_up_gbit_per_s = 1600\nhost_gbit_per_s = 128\n"
      "ssd_gbit_per_s = 10\n";
  const auto r = read_experiment_text(scaling_head + rates + R"([[case]]
name = "sixteen"
scaling = { to = 16, per_domain = 8 }
)",
                                      "e.toml");
  for (const auto& p : r.problems) FAIL(to_string(p));
  CHECK(r.spec.cases.at(0).base.scaling->to == 16);
  CHECK(r.spec.cases.at(0).base.scaling->ssd_gbit_per_s == 10);
  CHECK(experiment_problems(scaling_head) == "1:1: scaling: is for the measure scaling, which needs it");
  CHECK(experiment_problems(scaling_head + "[scaling]\nto = 1\n") ==
        "6:6: scaling.to: must be more than from = 1: the measure scaling adds instances");
  CHECK(experiment_problems(scaling_head + rates +
                            "to = 1\n[[case]]\nname = 'c'\nscaling = { window = 2 }\n") ==
        "10:6: scaling.to: must be more than from = 1: the measure scaling adds instances");
  CHECK(experiment_problems(scaling_head + "[scaling]\nto = 2\n") ==
        "5:1: scaling: network_gbit_per_s is missing; the policy blitz needs it");
  CHECK(experiment_problems(scaling_head + "[scaling]\nto = 4\nper_domain = 4\nhost_gbit_per_s = 128\n") ==
        "5:1: scaling: scale_up_gbit_per_s is missing; the policy blitz needs it");
  CHECK(experiment_problems(scaling_head + rates + "chunk_mib = 0.0625\nmodel_gb = 140\n") ==
        "10:13: scaling.chunk_mib: makes 2136230 chunks of 140 GB; at most 100000 can be simulated");
  CHECK(experiment_problems(scaling_head + rates + "[[axis]]\nparameter = 'gpus'\nvalues = [1]\n") ==
        "11:13: axis.parameter: has no effect: the measure scaling ignores gpus; remove this axis");
}
