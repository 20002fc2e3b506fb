#include "tools/lab/experiment_runner.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <stdexcept>

#include "policies/common/random.hpp"
#include "tools/lab/chain_measure.hpp"
#include "tools/lab/flat_top.hpp"
#include "tools/lab/latency_measure.hpp"
#include "tools/lab/llm_measure.hpp"
#include "tools/lab/measures.hpp"
#include "tools/lab/parallel.hpp"
#include "tools/lab/parameter.hpp"
#include "tools/lab/partition_measure.hpp"
#include "tools/lab/scaling_measure.hpp"

namespace troupe::lab {

namespace {

/// A scenario of a case with a value of each axis.
struct combination {
  const experiment_case* of;
  std::vector<std::optional<double>> at;
};

struct planned_point {
  point what;
  scenario where;
  size_t same_as;  ///< index of the point with the same run; its own index if it has a run of its own
};

std::vector<combination> combinations_of(const experiment& e, const run_options& options) {
  std::vector<combination> out;
  for (const auto& c : e.cases) {
    if (options.quick && !c.quick) continue;
    std::vector<combination> those{{&c, {}}};
    for (const auto& a : e.axes) {
      const auto own = c.values.find(a.parameter);
      auto values = own != c.values.end() ? own->second : options.quick ? a.quick : a.values;
      if (own != c.values.end() && options.quick && values.size() > 2)
        values = {values.front(), values.back()};
      std::vector<combination> longer;
      for (const auto& x : those) {
        auto with = [&](std::optional<double> value) {
          longer.push_back(x);
          longer.back().at.push_back(value);
        };
        if (values.empty()) with({});
        for (const double v : values) with(v);
      }
      those = std::move(longer);
    }
    out.insert(out.end(), those.begin(), those.end());
  }
  return out;
}

/// Keeps `n` of them, in order.
void keep_sample(std::vector<combination>& all, size_t n, uint64_t seed) {
  if (n == 0 || n >= all.size()) return;
  random_stream random{seed, "sample of an experiment"};
  std::vector<combination> out;
  for (size_t i = 0; i < all.size(); ++i)
    if (random.below(all.size() - i) < n - out.size()) out.push_back(std::move(all[i]));
  all = std::move(out);
}

scenario scenario_of(const experiment& e, const combination& c, const run_options& options) {
  auto s = c.of->base;
  for (size_t i = 0; i < e.axes.size(); ++i)
    if (c.at[i]) parameter_named(e.axes[i].parameter)->set(s, *c.at[i]);
  if (options.quick) {
    s.search.requests = e.quick_requests.value_or(s.search.requests);
    s.search.seeds = e.quick_seeds;
    s.search.precision = std::max(s.search.precision, 0.005);
  }
  s.search.requests = options.requests.value_or(s.search.requests);
  s.search.seeds = options.seeds.value_or(s.search.seeds);
  return s;
}

std::vector<planned_point> plan(const experiment& e, const run_options& options) {
  auto combinations = combinations_of(e, options);
  if (!options.full) keep_sample(combinations, options.quick ? e.quick_sample : e.sample, e.sample_seed);
  std::vector<planned_point> out;
  for (const auto& c : combinations) {
    for (const auto& policy : e.policies) {
      planned_point p{{c.of->name, c.at, policy, {}, {}, {}}, scenario_of(e, c, options), out.size()};
      if (!is_waiting(policy)) {  // other policies do not depend on that time
        for (size_t i = 0; i < out.size(); ++i) {
          bool same = out[i].what.policy == policy && out[i].what.case_name == p.what.case_name;
          for (size_t k = 0; same && k < e.axes.size(); ++k)
            same = e.axes[k].parameter == "timeout_percent" || out[i].what.at[k] == c.at[k];
          if (same) {
            p.same_as = i;
            break;
          }
        }
      }
      out.push_back(std::move(p));
    }
  }
  return out;
}

sample sample_of(const experiment& e, const planned_point& p, uint64_t seed, const run_options& options) {
  if (e.what == measure::partition)
    return measure_partition(*e.partition, p.what.policy, seed, options.quick);
  if (e.what == measure::latency) return measure_step_latency(p.where, p.what.policy, options.quick);
  if (e.what == measure::llm) return measure_llm(p.where, p.what.policy, seed, options.quick);
  if (e.what == measure::scaling) return measure_scaling(p.where, p.what.policy, seed);
  if (e.what == measure::chain) return measure_chain(p.where, p.what.policy, seed);
  auto how = scheduling_of(p.where, p.what.policy);
  if (!how) throw std::invalid_argument("unknown policy '" + p.what.policy + "'");
  if (e.shedding) how->shedding = *e.shedding;
  return take_sample(e.what, p.where, *how, options.run, seed);
}

void add_relative(const experiment& e, std::vector<point>& points) {
  const std::string main{main_metric(e.what)};
  for (auto& p : points)
    for (const auto& q : points)
      if (q.policy == *e.relative_to && q.case_name == p.case_name && q.at == p.at) {
        const double x = p.metrics.at(main), base = q.metrics.at(main);
        if (std::isfinite(x) && std::isfinite(base) && base > 0) p.metrics["relative"] = x / base;
      }
}

}  // namespace

results run_experiment(const experiment& e, const run_options& options) {
  auto planned = plan(e, options);
  struct piece {
    size_t point;
    uint64_t seed;
  };
  std::vector<piece> pieces;
  std::vector<std::vector<sample>> samples(planned.size());
  for (size_t i = 0; i < planned.size(); ++i) {
    if (planned[i].same_as != i) continue;
    const auto& search = planned[i].where.search;
    samples[i].resize(search.seeds);
    for (uint32_t k = 0; k < search.seeds; ++k) pieces.push_back({i, search.first_seed + k});
  }

  std::mutex mutex;
  size_t done = 0;
  // needs the machine for itself
  const bool alone = e.what == measure::scheduler || e.what == measure::latency;
  const auto threads = alone ? 1 : options.threads;
  for_each_parallel(pieces.size(), threads, [&](size_t i) {
    const auto& [index, seed] = pieces[i];
    const auto& p = planned[index];
    samples[index][seed - p.where.search.first_seed] = sample_of(e, p, seed, options);
    const std::lock_guard lock{mutex};
    ++done;
    if (options.progress) options.progress(done, pieces.size());
  });

  results out;
  out.what = e;
  out.quick = options.quick;
  for (size_t i = 0; i < planned.size(); ++i) {
    auto& p = planned[i];
    summarise(e, p.where, samples[p.same_as], p.what);
    for (const auto& said : e.paper)
      if (matches(said.of, e, p.what)) p.what.paper[said.metric] = said.value;
    out.points.push_back(std::move(p.what));
  }
  if (e.relative_to) add_relative(e, out.points);
  add_flat_top(e, out.points);
  out.claims = judge(e, out.points, options.quick);
  return out;
}

}  // namespace troupe::lab
