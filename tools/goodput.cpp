#include "tools/goodput.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "messages/json_text.hpp"
#include "policies/batching.hpp"
#include "policies/matchmaking.hpp"
#include "tools/lab/goodput.hpp"
#include "tools/lab/parallel.hpp"
#include "tools/lab/policy_choice.hpp"
#include "tools/lab/scenario_file.hpp"

namespace troupe {
namespace {

constexpr int done = 0, failed = 1, bad_input = 2;

/// The scenario with what the options say instead.
void apply(const goodput_options& options, lab::scenario& s) {
  auto& search = s.search;
  if (options.criterion)
    search.whose = *options.criterion == "worst" ? lab::criterion::worst : lab::criterion::average;
  search.seeds = options.seeds.value_or(search.seeds);
  search.first_seed = options.first_seed.value_or(search.first_seed);
  search.precision = options.precision.value_or(search.precision);
  search.most_bad = options.most_bad.value_or(search.most_bad);
  search.requests = options.requests.value_or(search.requests);
}

lab::goodput_estimate at_rate(const lab::scenario& s, const scheduling& how, lab::engine run, double rate,
                              uint32_t jobs) {
  lab::goodput_estimate out;
  out.samples.resize(s.search.seeds);
  lab::for_each_parallel(out.samples.size(), jobs, [&](size_t i) {
    const auto seed = s.search.first_seed + i;
    auto at = run(lab::trial_of(s, how, rate, seed), nullptr);
    const double good = at.goodput();
    out.samples[i] = {seed, good, std::move(at)};
  });
  return out;
}

void print_json(const goodput_options& options, const lab::scenario& s, const lab::goodput_estimate& e) {
  nlohmann::ordered_json per_seed = nlohmann::ordered_json::array();
  for (const auto& x : e.samples)
    per_seed.push_back({{"seed", x.seed},
                        {"goodput_rps", x.rate},
                        {"bad_rate", lab::bad_rate(x.at, s.search.whose)},
                        {"mean_batch", x.at.mean_batch()},
                        {"gpu_busy", x.rate > 0 ? x.at.busy_share() : 0}});
  nlohmann::ordered_json document{{"scenario", options.file},
                                  {"policy", options.policy},
                                  {"engine", options.engine},
                                  {"criterion", lab::criterion_names[static_cast<size_t>(s.search.whose)]},
                                  {"goodput_rps", e.rate()},
                                  {"ci95", e.ci95()},
                                  {"bad_rate", e.bad_rate(s.search.whose)},
                                  {"mean_batch", e.mean_batch()},
                                  {"gpu_busy", e.busy()},
                                  {"seeds", e.samples.size()},
                                  {"first_seed", s.search.first_seed},
                                  {"per_seed", per_seed}};
  if (options.rate) document["offered_rps"] = *options.rate;
  std::cout << json_text(document, 2) << '\n';
}

void print_table(const goodput_options& options, const lab::scenario& s, const lab::goodput_estimate& e) {
  fmt::print("{:<8} {:>12} {:>8} {:>7} {:>7}\n", "seed", "goodput/s", "bad", "batch", "busy");
  for (const auto& x : e.samples)
    fmt::print("{:<8} {:>12.1f} {:>7.2f}% {:>7.2f} {:>6.1f}%\n", x.seed, x.rate,
               100 * lab::bad_rate(x.at, s.search.whose), x.at.mean_batch(),
               x.rate > 0 ? 100 * x.at.busy_share() : 0);
  fmt::print("{:<8} {:>12.1f} {:>7.2f}% {:>7.2f} {:>6.1f}%\n", "mean", e.rate(),
             100 * e.bad_rate(s.search.whose), e.mean_batch(), 100 * e.busy());
  fmt::print("{} with {}: {:.0f} requests a second, ± {:.0f} (95 %)\n", options.file, options.policy,
             e.rate(), e.ci95());
}

}  // namespace

int goodput(const goodput_options& options) {
  auto reading = lab::read_scenario(options.file);
  for (const auto& p : reading.problems) std::cerr << to_string(p) << '\n';
  if (!reading.ok()) return bad_input;
  auto& s = reading.spec;
  apply(options, s);
  auto how = lab::scheduling_of(s, options.policy);
  if (!how) {
    std::cerr << "troupe goodput: " << lab::unknown_policy(options.policy) << '\n';
    return bad_input;
  }
  if (!options.batching.empty()) how->batching = options.batching;
  if (!options.shedding.empty()) how->shedding = options.shedding;
  if (!options.matchmaking.empty()) how->matchmaking = options.matchmaking;
  if (const auto why = lab::unknown_part(*how); !why.empty()) {
    std::cerr << "troupe goodput: " << why << '\n';
    return bad_input;
  }
  const auto run = lab::engine_of(options.engine == "actors" ? 1 : 0);
  const auto jobs = options.jobs == 0 ? lab::available_cores() : options.jobs;
  if (options.duration_s)  // of the measured part, at about the rate that will be found
    s.search.requests =
        std::max<uint64_t>(100, static_cast<uint64_t>(*options.duration_s * 0.75 * lab::rate_bound(s)));
  const auto found =
      options.rate ? at_rate(s, *how, run, *options.rate, jobs) : lab::estimate_goodput(s, *how, run, jobs);
  options.json ? print_json(options, s, found) : print_table(options, s, found);
  return found.rate() > 0 ? done : failed;
}

}  // namespace troupe
