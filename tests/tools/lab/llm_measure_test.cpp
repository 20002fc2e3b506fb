#include "tools/lab/llm_measure.hpp"

#include <doctest/doctest.h>

#include "config/step_profile_file.hpp"

using namespace troupe;
using namespace troupe::lab;

namespace {

scenario a_scenario() {
  scenario s;
  s.llm.emplace();
  s.llm->profile = read_step_profile(TROUPE_EXAMPLES "/profiles/punica-7b-a100.toml").profile;
  s.llm->output = {.median = 20, .sigma = 0.5, .max = 100};
  s.search.requests = 100;
  return s;
}

}  // namespace

TEST_CASE("llm measure: the use of engines is counted") {
  // one is busy, full half of this time; one is idle for a minute and again for a second
  std::vector<std::vector<uint32_t>> sequences(1000, {20, 0});
  for (size_t i = 0; i < 500; ++i) sequences[i][0] = 28;
  for (size_t i = 600; i < 610; ++i) sequences[i][1] = 1;
  for (size_t i = 620; i < 1000; ++i) sequences[i][1] = 1;
  const auto use = use_of(sequences, 32);
  CHECK(use.idle_share == doctest::Approx(610.0 / 2000));
  CHECK(use.idle_minutes == doctest::Approx(600.0 / 2000));
  CHECK(use.stays_idle == doctest::Approx(600.0 / 610));
  CHECK(use.full_share == doctest::Approx(500.0 / 1390));
  CHECK(use_of({}, 32).idle_share == 0);
}

TEST_CASE("llm measure: batches of one adapter are small where adapters are many, mixed ones are not") {
  auto s = a_scenario();
  const auto tokens = [&](adapter_popularity p, const char* policy) {
    s.llm->popularity = p;
    const auto r = measure_llm(s, policy, 1, false);
    CHECK(r.metrics.at("completed") == 1);
    CHECK(r.metrics.contains("idle_share") == false);  // undefined without a rate
    return std::pair{r.value, r.metrics.at("mean_batch")};
  };
  const auto mixed = tokens(adapter_popularity::distinct, "mixed");
  const auto one = tokens(adapter_popularity::distinct, "one_adapter");
  CHECK(one.second == doctest::Approx(1).epsilon(0.02));  // chunks of prompts are steps without a token
  CHECK(mixed.second > 10);
  CHECK(mixed.first > 5 * one.first);
  CHECK(tokens(adapter_popularity::identical, "one_adapter").first ==
        doctest::Approx(mixed.first).epsilon(0.05));
}

TEST_CASE("llm measure: a load that rises and falls, step by step, the same for the same seed") {
  auto s = a_scenario();
  s.llm->engines = 4;
  s.llm->peak_rps = 60;
  s.llm->length = 70s;
  s.llm->quick_length = 10s;
  const auto punica = measure_llm(s, "punica", 1, false), spread = measure_llm(s, "least_loaded", 1, false);
  CHECK(punica.metrics.at("completed") == 1);
  CHECK(punica.metrics.at("idle_minutes") > 0.2);
  CHECK(spread.metrics.at("idle_minutes") == 0);
  CHECK(punica.metrics.at("mean_batch") > 1.5 * spread.metrics.at("mean_batch"));
  CHECK(spread.metrics.at("moved") == 0);
  REQUIRE(punica.tables.size() == 2);
  const auto& all = punica.tables[0];
  double requests = 0, tokens = 0;
  for (const auto& row : all.rows) {
    requests += row[1] * 0.2;  // 70 s are 700 samples, two a step
    tokens += row[2] * 0.2;
  }
  CHECK(requests == doctest::Approx(2100).epsilon(0.1));
  CHECK(tokens / requests > 15);
  CHECK(punica.tables[1].rows.size() == 4 * all.rows.size());
  CHECK(measure_llm(s, "punica", 1, false).metrics == punica.metrics);
  CHECK(measure_llm(s, "punica", 1, true).tables[0].rows.size() == 100);

  point p;
  summarise_means({punica, spread}, p);
  CHECK(p.metrics.at("mean_batch") ==
        doctest::Approx((punica.metrics.at("mean_batch") + spread.metrics.at("mean_batch")) / 2));
  CHECK(p.tables.size() == 2);
}
