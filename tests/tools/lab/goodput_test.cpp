#include "tools/lab/goodput.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "tests/tools/lab/fake_engine.hpp"

using namespace troupe;
using namespace troupe::lab;

namespace {

scenario four_gpus() {
  scenario s;
  model_group m;
  m.name = "m";
  m.latency = {1ms, 5ms};
  m.slo = 25ms;
  s.models = {m};
  s.gpus = 4;
  s.search.seeds = 5;
  s.search.first_seed = 5;
  s.search.precision = 0.001;
  s.search.requests = 100'000;
  return s;
}

}  // namespace

TEST_CASE("goodput is the highest rate with one percent of bad requests, for every seed") {
  const auto found = estimate_goodput(four_gpus(), {}, &run_fake, 2);
  REQUIRE(found.samples.size() == 5);
  for (const auto& x : found.samples) {
    const double truth = 400 * (1 + 0.002 * static_cast<double>(x.seed % 5)) / 0.99;
    CHECK(x.rate <= truth * 1.0001);
    CHECK(x.rate > truth * 0.9988);
  }
  CHECK(found.samples[0].seed == 5);
  CHECK(found.rate() == doctest::Approx(404.04 * 1.004).epsilon(0.001));
  CHECK(found.ci95().value() > 0.5);
  CHECK(found.ci95().value() < 3);
  CHECK(found.bad_rate(criterion::worst) <= 0.01);
  CHECK(found.bad_rate(criterion::worst) > 0.008);
  CHECK(found.mean_batch() == 4);
  CHECK(found.busy() == doctest::Approx(0.5));
}

TEST_CASE("one seed has no interval, and equal seeds one of the search's precision") {
  auto s = four_gpus();
  s.search.seeds = 1;
  CHECK_FALSE(estimate_goodput(s, {}, &run_fake, 1).ci95());
  auto twice = estimate_goodput(s, {}, &run_fake, 1);
  twice.samples.push_back(twice.samples[0]);
  CHECK(twice.ci95().value() == doctest::Approx(0.001 * twice.rate()));
}

TEST_CASE("the number of threads changes nothing") {
  const auto one = estimate_goodput(four_gpus(), {}, &run_fake, 1);
  const auto four = estimate_goodput(four_gpus(), {}, &run_fake, 4);
  for (size_t i = 0; i < one.samples.size(); ++i) CHECK(one.samples[i].rate == four.samples[i].rate);
}

TEST_CASE("where every request is lost, goodput is 0") {
  const engine nothing = [](const trial& t, trial_watch*) {
    trial_result r;
    r.models.resize(t.models.size());
    for (auto& m : r.models) m.offered = 100;
    r.measured = 1s;
    r.busy.resize(t.slots);
    return r;
  };
  const auto found = estimate_goodput(four_gpus(), {}, nothing, 1);
  CHECK(found.rate() == 0);
  CHECK(found.mean_batch() == 0);
  CHECK(found.busy() == 0);
}

TEST_CASE("the worst model and the average are different criteria") {
  trial_result r;
  r.models = {{1000, 1000}, {100, 90}};
  CHECK(bad_rate(r, criterion::worst) == doctest::Approx(0.1));
  CHECK(bad_rate(r, criterion::average) == doctest::Approx(10.0 / 1100));
}
