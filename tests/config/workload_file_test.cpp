#include "config/workload_file.hpp"

#include "tests/config/workload_text.hpp"

using namespace troupe;

TEST_CASE("a total rate is divided by weights unless the file gives shares") {
  const auto weights = good("duration_s = 10\nrate_rps = 100");
  REQUIRE(weights.models.size() == 2);
  CHECK(weights.models[0].rate_rps == doctest::Approx(75));
  CHECK(weights.models[1].rate_rps == doctest::Approx(25));
  CHECK(weights.models[1].model == model_id{1});
  CHECK(weights.models[1].slo == 30ms);
  CHECK(weights.models[1].latency == latency_model{2ms, 4ms});
  CHECK(good("duration_s = 10\nrate_rps = 100\npopularity = 'equal'").models[0].rate_rps ==
        doctest::Approx(50));
  const auto zipf = good("duration_s = 10\nrate_rps = 300\npopularity = { zipf = 1 }");
  CHECK(zipf.models[0].rate_rps == doctest::Approx(200));
  CHECK(zipf.models[1].rate_rps == doctest::Approx(100));
}

TEST_CASE("absent keys of a workload have defaults") {
  const auto w = good("duration_s = 10\nrate_rps = 100");
  CHECK(w.seed == 1);
  CHECK(w.length == 10s);
  CHECK(w.warmup == 0s);
  CHECK(w.models[0].arrivals == arrival_kind::poisson);
  CHECK(w.models[0].rows == 1);
  CHECK(w.faults.empty());
  CHECK(w.random_faults.count == 0);
  CHECK(w.clocks.max_offset == 1000s);
}

TEST_CASE("a model has a rate, arrivals, rows, an SLO and a profile of its own") {
  const auto w = good(R"(duration_s = 10
arrivals = { gamma_cv = 2 }
[[model]]
name = "n"
rate_rps = 7
rows = 4
slo_ms = 99
alpha_ms = 0.5
beta_ms = 1
[[model]]
name = "m"
rate_rps = 1
arrivals = "constant"
)");
  CHECK(w.models[0].rate_rps == 1);
  CHECK(w.models[0].arrivals == arrival_kind::constant);
  CHECK(w.models[1].rate_rps == 7);
  CHECK(w.models[1].arrivals == arrival_kind::gamma);
  CHECK(w.models[1].gamma_cv == 2);
  CHECK(w.models[1].rows == 4);
  CHECK(w.models[1].slo == 99ms);
  CHECK(w.models[1].latency == latency_model{500us, 1ms});
}

TEST_CASE("a model that the workload does not name gets no requests") {
  const auto w = good("duration_s = 10\n[[model]]\nname = 'n'\nrate_rps = 5");
  CHECK(w.models[0].rate_rps == 0);
  CHECK(w.models[1].rate_rps == 5);
}

TEST_CASE("segments scale the rates, given as a factor or as a total") {
  const auto w = good(
      "duration_s = 10\nrate_rps = 100\n[[segment]]\nat_s = 2\nscale = 0.5\n[[segment]]\nat_s = 4\nrate_rps "
      "= 250");
  REQUIRE(w.segments.size() == 2);
  CHECK(w.segments[0].at == 2s);
  CHECK(w.segments[0].scale == 0.5);
  CHECK(w.segments[1].scale == doctest::Approx(2.5));
  const std::string late = "[[segment]]\nat_s = 1\nrate_rps = ";
  CHECK(good("duration_s = 10\nrate_rps = 1e-3\n" + late + "1e3").segments[0].scale == doctest::Approx(1e6));
}

TEST_CASE("faults are ordered by time and name nodes of the cluster") {
  const auto w = good(R"(duration_s = 10
rate_rps = 1
[[fault]]
kind = "slow_link"
at_s = 5
for_s = 1
between = ["head", "worker"]
gbit_per_s = 0.5
[[fault]]
kind = "crash"
at_s = 2
node = "worker"
[[fault]]
kind = "delay"
at_s = 3
for_s = 0.5
node = "worker"
extra_ms = 2.5
[[fault]]
kind = "clock_drift"
at_s = 4
for_s = 1
node = "head"
ppm = -50
[faults]
random = { count = 3, kinds = ["cut", "stall"] }
[clocks]
max_offset_s = 5
max_drift_ppm = 0
)");
  REQUIRE(w.faults.size() == 4);
  CHECK(w.faults[0].kind == fault_kind::crash);
  CHECK(w.faults[0].a == node_id{1});
  CHECK(w.faults[0].length == 0s);
  CHECK(w.faults[1].kind == fault_kind::delay);
  CHECK(w.faults[1].a == w.faults[1].b);
  CHECK(w.faults[1].extra == 2500us);
  CHECK(w.faults[2].drift_ppm == -50);
  CHECK(w.faults[3].kind == fault_kind::slow_link);
  CHECK(w.faults[3].a == node_id{0});
  CHECK(w.faults[3].b == node_id{1});
  CHECK(w.faults[3].length == 1s);
  CHECK(w.faults[3].gbit_per_s == 0.5);
  CHECK(w.random_faults.count == 3);
  CHECK(w.random_faults.kinds == std::vector{fault_kind::cut, fault_kind::stall});
  CHECK(w.clocks.max_offset == 5s);
}

TEST_CASE("random faults are of every kind unless the file names some") {
  const auto w = good("duration_s = 10\nrate_rps = 1\n[faults]\nrandom = { per_minute = 2.5 }");
  CHECK(w.random_faults.per_minute == 2.5);
  CHECK(w.random_faults.kinds.size() == fault_kind_count);
}

// One line a file, regardless of the length of its message.
// clang-format off

TEST_CASE("a workload without a length or a rate is refused") {
  check("", {
      {"rate_rps = 1", "1:1: duration_s: is missing; it must be seconds in 0.001..604800"},
      {"duration_s = 10", "1:1: rate_rps: is missing; give a total here, or one for each [[model]]"},
      {"duration_s = 10\nrate_rps = 0", "2:12: rate_rps: every rate is 0; give at least one model a rate above 0"},
      {"duration_s = 10\npopularity = 'equal'\n[[model]]\nname = 'm'\nrate_rps = 1", "2:14: popularity: divides a total rate; give rate_rps too"},
      {"duration = 10\nrate_rps = 1\nduration_s = 10", "1:1: unknown key 'duration'; did you mean 'duration_s'?"},
  });
}

TEST_CASE("a bad addition to a good workload is refused with its place and the fix") {
  check("duration_s = 10\nrate_rps = 1\n", {
      {"rows = 9", "3:8: rows: 9 rows do not fit into a batch of model 'n' (max_batch = 8)"},
      {"warmup_s = 10", "3:12: warmup_s: must be shorter than duration_s, which includes it"},
      {"popularity = 'zipf'", R"(3:14: popularity: must be "weights", "equal" or { zipf }, not "zipf")"},
      {"arrivals = 'gamma'", R"(3:12: arrivals: must be "poisson", "constant" or { gamma_cv }, not "gamma")"},
      {"[[model]]\nname = 'm'\nrate_rps = 1", "5:12: model.rate_rps: the file has a total rate_rps already; remove one of the two"},
      {"arrivals = { gamma_cv = 2 }\n[[model]]\nname = 'm'\narrivals = 'gama'", R"(6:12: model.arrivals: must be "poisson", "constant" or { gamma_cv }, not "gama")"},
      {"[[model]]\nname = 'x'", R"(4:8: model.name: must be one of "m", "n", not "x")"},
      {"[[model]]\nname = 'm'\n[[model]]\nname = 'm'", "6:8: model.name: model 'm' already has its load in line 4; remove one"},
      {"[[model]]\nname = 'n'\nrows = 9", "5:8: model.rows: 9 rows do not fit into a batch of model 'n' (max_batch = 8)"},
      {"[[model]]\nname = 'n'\nalpha_ms = 9", "5:12: model.alpha_ms: alpha_ms and beta_ms go together; give both or none"},
      {"[[segment]]\nat_s = 3", "3:1: segment: give either rate_rps or scale"},
      {"[[segment]]\nat_s = 3\nscale = 1\n[[segment]]\nat_s = 3\nscale = 2", "7:8: segment.at_s: must be later than the segment before it, at 3"},
      {"[[segment]]\nat_s = 3\nscale = 2e6", "5:9: segment.scale: must be a number in 0..1000000, not 2000000.0"},
      {"[[segment]]\nat_s = 3\nrate_rps = 2e6", "5:12: segment.rate_rps: 2000000 requests a second are more than 1000000 times the initial rates, 1 in total; raise those, or lower this"},
      {"[[fault]]\nkind = 'crsh'\nat_s = 1\nnode = 'head'", R"(4:8: fault.kind: must be one of "delay", "stall", "cut", "crash", "freeze", "restart", "slow_link", "reorder", "clock_drift", "poison", ..., not "crsh"; did you mean 'crash'?)"},
      {"[[fault]]\nkind = 'crash'\nat_s = 10\nnode = 'head'", "5:8: fault.at_s: must be less than duration_s = 10, the end of the run"},
      {"[[fault]]\nkind = 'crash'\nat_s = 1\nfor_s = 1\nnode = 'head'", "6:9: fault.for_s: does not apply to a crash fault; remove this key"},
      {"[[fault]]\nkind = 'freeze'\nat_s = 1\nfor_s = 1\nbetween = ['head', 'worker']", "3:1: fault.node: is missing; it must be one of \"head\", \"worker\"\n7:11: fault.between: does not apply to a freeze fault; remove this key"},
      {"[[fault]]\nkind = 'cut'\nat_s = 1\nfor_s = 1", R"(3:1: fault: a cut fault needs between = ["a", "b"], or node = "a" for all links of that node)"},
      {"[[fault]]\nkind = 'cut'\nat_s = 1\nfor_s = 1\nbetween = ['head']", "7:11: fault.between: must name two nodes"},
      {"[[fault]]\nkind = 'delay'\nat_s = 1\nfor_s = 1\nnode = 'head'\nppm = 3", "3:1: fault.extra_ms: is missing; it must be milliseconds in 0.001..1000000\n8:7: fault.ppm: does not apply to a delay fault; remove this key"},
      {"[faults]\nrandom = {}", "4:10: faults.random: give either count or per_minute"},
      {"[faults]", "3:1: faults.random: is missing; give { count } or { per_minute }"},
  });
}

// clang-format on

TEST_CASE("the example workloads fit their clusters") {
  for (const std::string folder : {TROUPE_EXAMPLES "/quickstart", TROUPE_EXAMPLES "/emulated"}) {
    CAPTURE(folder);
    const auto c = read_cluster(folder + "/cluster.toml");
    REQUIRE(listed(c.problems) == "");
    const auto w = read_workload(folder + "/workload.toml", c.spec);
    CHECK(listed(w.problems) == "");
    // Simulation works for both: every model has a profile.
    for (const auto& m : w.spec.models) CHECK(m.latency(1) > 0ns);
  }
}

TEST_CASE("a workload that cannot be read is one problem") {
  CHECK(listed(read_workload("/nowhere/w.toml", cluster()).problems) ==
        "/nowhere/w.toml: cannot be read: No such file or directory\n");
}

TEST_CASE("tenants ask in equal shares unless the workload says otherwise") {
  auto c = cluster();
  const std::string load = "duration_s = 1\nrate_rps = 10\n";
  CHECK(read_workload_text(load, "w.toml", c).spec.tenants.empty());
  c.tenants.resize(2);
  c.tenants[0].name = "a";
  c.tenants[1].name = "b";
  CHECK(read_workload_text(load, "w.toml", c).spec.tenants == std::vector<double>{0.5, 0.5});
  const auto w = read_workload_text(load + "[[tenant]]\nname = \"b\"\nshare = 3\n", "w.toml", c);
  CHECK(w.spec.tenants == std::vector<double>{0.25, 0.75});
  CHECK(listed(read_workload_text(load + "[[tenant]]\nname = \"c\"\nshare = 3\n", "w.toml", c).problems)
            .find("tenant.name") != std::string::npos);
}
