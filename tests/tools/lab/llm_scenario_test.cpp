#include "tools/lab/llm_scenario.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace troupe;
using namespace troupe::lab;

TEST_CASE("llm scenario: all at once, with as many adapters as Punica has") {
  llm_scenario t;
  const auto adapters = [&](adapter_popularity p) {
    t.popularity = p;
    std::set<std::string> out;
    for (const auto& generation : generations_of(t, 1000, 1h, 1)) {
      CHECK(generation.at == duration{});
      out.insert(generation.adapter);
    }
    return out.size();
  };
  CHECK(generations_of(t, 1000, 1h, 1).size() == 1000);
  CHECK(adapters(adapter_popularity::distinct) == 1000);
  CHECK(adapters(adapter_popularity::uniform) == 32);  // the square root, rounded up
  CHECK(adapters(adapter_popularity::identical) == 1);
  const auto skewed = adapters(adapter_popularity::skewed);
  CHECK(skewed > 10);
  CHECK(skewed < 25);  // of the 32, those with requests
  t.adapters = 7;
  CHECK(adapter_count(t, 1000) == 7);
}

TEST_CASE("llm scenario: the rate rises evenly to its peak and falls as evenly") {
  llm_scenario t;
  t.peak_rps = 100;
  const auto generations = generations_of(t, 0, 400s, 1);
  CHECK(request_count(t, 0, 400s) == 20'000);
  CHECK(static_cast<double>(generations.size()) == doctest::Approx(20'000).epsilon(0.03));
  CHECK(std::ranges::is_sorted(generations, {}, &traced_generation::at));
  const auto between = [&](duration from, duration to) {
    return static_cast<double>(
        std::ranges::count_if(generations, [&](const auto& x) { return x.at >= from && x.at < to; }));
  };
  CHECK(between(0s, 100s) == doctest::Approx(2500).epsilon(0.1));  // 25 a second on average
  CHECK(between(100s, 200s) == doctest::Approx(7500).epsilon(0.1));
  CHECK(between(200s, 300s) == doctest::Approx(7500).epsilon(0.1));
  CHECK(between(300s, 400s) == doctest::Approx(2500).epsilon(0.1));
  CHECK(generations == generations_of(t, 0, 400s, 1));
  CHECK(generations != generations_of(t, 0, 400s, 2));
}

TEST_CASE("llm scenario: policies are routings, and batches of one adapter") {
  CHECK(llm_policy_named("least_loaded")->routing == "least_loaded");
  CHECK(llm_policy_named("least_loaded")->mix_adapters);
  CHECK(llm_policy_named("mixed")->routing == "punica");
  CHECK_FALSE(llm_policy_named("one_adapter")->mix_adapters);
  CHECK_FALSE(llm_policy_named("deferred"));
  for (const auto n : llm_policy_names()) CHECK(llm_policy_named(n));
}
