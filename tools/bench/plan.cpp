#include "tools/bench/plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "policies/scaling/multicast_plan.hpp"
#include "policies/workload/random_multicast.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

struct plan_figures {
  double median_us = 0, p99_us = 0, largest_us = 0;
  double mean_ratio = 0, largest_ratio = 0;  ///< latest finish of greedy chains / that of the best ones
};

plan_figures measure_plans(network_kind kind, const bench_plan_options& o) {
  random_stream random(1, "bench plan");
  std::vector<double> took;
  plan_figures f;
  for (uint32_t i = 0; i < o.instances; ++i) {
    const auto p = random_multicast(random, kind, o.sources, o.targets, true);
    const auto began = std::chrono::steady_clock::now();
    const auto plan = plan_multicast(p, o.greedy ? 0 : max_exact_groups);
    took.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count());
    if (!o.greedy) continue;
    const auto best = plan_multicast(p);
    if (!best.exact)
      throw std::invalid_argument("--greedy has no best plans to compare with: give fewer sources");
    const double ratio =
        static_cast<double>(plan.latest().count()) / static_cast<double>(best.latest().count());
    f.mean_ratio += ratio / o.instances;
    f.largest_ratio = std::max(f.largest_ratio, ratio);
  }
  std::ranges::sort(took);
  f.median_us = took[took.size() / 2];
  f.p99_us = took[took.size() * 99 / 100];
  f.largest_us = took.back();
  return f;
}

}  // namespace

int bench_plan(const bench_plan_options& o) {
  if (o.greedy && o.targets > max_exact_groups) {
    report("troupe: --greedy needs {} targets at most, for which the best chains are known",
           max_exact_groups);
    return exit_bad_input;
  }
  nlohmann::ordered_json document{{"sources", o.sources}, {"targets", o.targets}, {"instances", o.instances}};
  document["rows"] = nlohmann::ordered_json::array();
  if (!o.json)
    fmt::print("{} sources, {} targets, {} random networks of each kind\n{:<10} {:>10} {:>10} {:>10}{}\n",
               o.sources, o.targets, o.instances, "network", "median us", "99 % us", "largest",
               o.greedy ? "  finish / best: mean, largest" : "");
  constexpr std::pair<network_kind, const char*> kinds[] = {{network_kind::equal, "equal"},
                                                            {network_kind::by_node, "by node"},
                                                            {network_kind::by_leaf, "by leaf"},
                                                            {network_kind::arbitrary, "arbitrary"}};
  for (const auto& [kind, name] : kinds) {
    plan_figures f;
    try {
      f = measure_plans(kind, o);
    } catch (const std::invalid_argument& e) {
      report("troupe: {}", e.what());
      return exit_bad_input;
    }
    nlohmann::ordered_json row{
        {"name", name}, {"median_us", f.median_us}, {"p99_us", f.p99_us}, {"largest_us", f.largest_us}};
    if (o.greedy) row["finish_ratio"] = {{"mean", f.mean_ratio}, {"largest", f.largest_ratio}};
    document["rows"].push_back(std::move(row));
    if (o.json) continue;
    fmt::print("{:<10} {:>10.1f} {:>10.1f} {:>10.1f}", name, f.median_us, f.p99_us, f.largest_us);
    if (o.greedy) fmt::print("  {:>14.5f}  {:>12.5f}", f.mean_ratio, f.largest_ratio);
    fmt::print("\n");
  }
  if (o.json) fmt::print("{}\n", document.dump(2));
  return exit_done;
}

}  // namespace troupe
