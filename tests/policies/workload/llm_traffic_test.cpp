#include "policies/workload/llm_traffic.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

using namespace troupe;

namespace {

std::vector<traced_generation> some(const llm_traffic_options& o, int n = 20000) {
  llm_traffic traffic(o);
  std::vector<traced_generation> out;
  for (int i = 0; i < n; ++i) out.push_back(traffic.next());
  return out;
}

std::map<std::string, int> adapters_of(adapter_popularity popularity) {
  llm_traffic_options o;
  o.adapters = 10;
  o.popularity = popularity;
  std::map<std::string, int> counts;
  for (const auto& t : some(o)) ++counts[t.adapter];
  return counts;
}

}  // namespace

TEST_CASE("llm traffic: lengths as ShareGPT's, within their bounds") {
  double prompt = 0, output = 0;
  llm_traffic_options o;
  const auto rows = some(o);
  for (const auto& t : rows) {
    prompt += t.prompt_tokens;
    output += t.output_tokens;
    REQUIRE(t.prompt_tokens >= 1);
    REQUIRE(t.prompt_tokens <= chat_prompts.max);
    REQUIRE(t.output_tokens >= 1);
    REQUIRE(t.output_tokens <= chat_answers.max);
    REQUIRE(t.adapter.empty());
  }
  // the bounds truncate the distributions and lower their means
  CHECK(prompt / static_cast<double>(rows.size()) > 120);
  CHECK(prompt / static_cast<double>(rows.size()) < 165);
  CHECK(output / static_cast<double>(rows.size()) > 230);
  CHECK(output / static_cast<double>(rows.size()) < 340);
  o.prompt = token_lengths{.median = 60, .sigma = 0, .max = 2048};
  for (const auto& t : some(o, 10)) CHECK(t.prompt_tokens == 60);
}

TEST_CASE("llm traffic: adapters have the popularity of Punica's experiments") {
  const auto distinct = adapters_of(adapter_popularity::distinct);
  CHECK(distinct.size() == 10);
  for (const auto& [_, n] : distinct) CHECK(n == 2000);
  CHECK(adapters_of(adapter_popularity::identical) == std::map<std::string, int>{{"adapter-0000", 20000}});
  for (const auto& [_, n] : adapters_of(adapter_popularity::uniform)) CHECK((n > 1800 && n < 2200));
  const auto ratio = [](std::map<std::string, int> counts, const char* of, const char* over) {
    return counts[of] / static_cast<double>(counts[over]);
  };
  const auto skewed = adapters_of(adapter_popularity::skewed);
  CHECK(ratio(skewed, "adapter-0000", "adapter-0001") == doctest::Approx(1.5).epsilon(0.08));
  CHECK(ratio(skewed, "adapter-0001", "adapter-0002") == doctest::Approx(1.5).epsilon(0.08));
  CHECK(ratio(skewed, "adapter-0002", "adapter-0003") == doctest::Approx(1.5).epsilon(0.08));
  const auto zipf = adapters_of(adapter_popularity::zipf);
  CHECK(ratio(zipf, "adapter-0000", "adapter-0001") == doctest::Approx(2.83).epsilon(0.08));  // 2^1.5
  CHECK(ratio(zipf, "adapter-0001", "adapter-0002") == doctest::Approx(1.84).epsilon(0.08));  // 1.5^1.5
}

TEST_CASE("llm traffic: the same options give the same trace, and times never decrease") {
  llm_traffic_options o;
  o.arrivals = arrival_spec{.kind = arrival_kind::gamma, .rate = 100, .cv = 4};
  o.tenants = 3;
  o.slo = 2s;
  const auto rows = some(o, 1000);
  CHECK(rows == some(o, 1000));
  std::set<std::string> tenants;
  for (size_t i = 0; i < rows.size(); ++i) {
    tenants.insert(rows[i].tenant);
    CHECK(rows[i].slo == 2s);
    if (i > 0) CHECK(rows[i - 1].at <= rows[i].at);
  }
  CHECK(tenants.size() == 3);
  o.seed = 2;
  CHECK_FALSE(rows == some(o, 1000));
}
