#include "tools/commands/goodput.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "messages/common/json_text.hpp"
#include "policies/batching/batching.hpp"
#include "policies/matchmaking/matchmaking.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/lab/goodput.hpp"
#include "tools/lab/parallel.hpp"
#include "tools/lab/policy_choice.hpp"
#include "tools/lab/scenario_file.hpp"

namespace troupe {
namespace {

/// Applies the options to the scenario.
void apply(const goodput_options& options, lab::scenario& s) {
  auto& search = s.search;
  if (options.criterion)
    search.whose = *options.criterion == "worst" ? lab::criterion::worst : lab::criterion::average;
  search.seeds = options.seeds.value_or(search.seeds);
  search.first_seed = options.first_seed.value_or(search.first_seed);
  search.precision = options.precision.value_or(search.precision);
  search.max_bad = options.max_bad.value_or(search.max_bad);
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

constexpr double max_run_requests = 1e9;  // of a run

/// Why the options do not fit the scenario. Empty: they fit.
std::string contradiction(const goodput_options& options, const lab::scenario& s, double rate) {
  if (s.load && (options.requests || options.duration_s))
    return fmt::format(
        "{} has no effect: changing_load.length_s of {} sets the length of a run; leave it out",
        options.requests ? "--requests" : "--duration", options.file);
  if (options.duration_s && *options.duration_s * rate > max_run_requests)
    return fmt::format("--duration {}: a run would have about {:.2g} requests; give at most {:.3g} seconds",
                       *options.duration_s, *options.duration_s * rate, max_run_requests / rate);
  if (options.rate && rate * to_seconds(s.search.warm_up) > max_run_requests)
    return fmt::format("--rate {}: the warm-up of {} s would have {:.2g} requests; give at most {:.3g}", rate,
                       to_seconds(s.search.warm_up), rate * to_seconds(s.search.warm_up),
                       max_run_requests / to_seconds(s.search.warm_up));
  return {};
}

void print_json(const goodput_options& options, const scheduling& how, const lab::scenario& s,
                const lab::goodput_estimate& e) {
  const auto interval = e.ci95();
  nlohmann::ordered_json per_seed = nlohmann::ordered_json::array();
  for (const auto& x : e.samples)
    per_seed.push_back({{"seed", x.seed},
                        {"goodput_rps", x.rate},
                        {"bad_rate", lab::bad_rate(x.at, s.search.whose)},
                        {"mean_batch", x.at.mean_batch()},
                        {"gpu_busy", x.rate > 0 ? x.at.busy_share() : 0}});
  nlohmann::ordered_json document{
      {"scenario", options.file},
      {"policy", options.policy},
      {"batching", how.batching},
      {"shedding", how.shedding},
      {"matchmaking", how.matchmaking},
      {"engine", options.engine},
      {"criterion", lab::criterion_names[static_cast<size_t>(s.search.whose)]},
      {"goodput_rps", e.rate()},
      {"ci95", interval ? nlohmann::ordered_json(*interval) : nlohmann::ordered_json(nullptr)},
      {"bad_rate", e.bad_rate(s.search.whose)},
      {"mean_batch", e.mean_batch()},
      {"gpu_busy", e.busy()},
      {"seeds", e.samples.size()},
      {"first_seed", s.search.first_seed},
      {"per_seed", per_seed}};
  if (options.rate) document["offered_rps"] = *options.rate;
  std::cout << json_text(document, 2) << '\n';
}

void print_table(const goodput_options& options, const scheduling& how, const lab::scenario& s,
                 const lab::goodput_estimate& e) {
  fmt::print("batching {}, shedding {}, matchmaking {}\n", how.batching, how.shedding, how.matchmaking);
  fmt::print("{:<8} {:>12} {:>8} {:>7} {:>7}\n", "seed", "goodput/s", "bad", "batch", "busy");
  for (const auto& x : e.samples)
    fmt::print("{:<8} {:>12.1f} {:>7.2f}% {:>7.2f} {:>6.1f}%\n", x.seed, x.rate,
               100 * lab::bad_rate(x.at, s.search.whose), x.at.mean_batch(),
               x.rate > 0 ? 100 * x.at.busy_share() : 0);
  fmt::print("{:<8} {:>12.1f} {:>7.2f}% {:>7.2f} {:>6.1f}%\n", "mean", e.rate(),
             100 * e.bad_rate(s.search.whose), e.mean_batch(), 100 * e.busy());
  const auto interval = e.ci95();
  fmt::print("{} with {}: {:.0f} requests a second, {}\n", options.file, options.policy, e.rate(),
             interval ? fmt::format("± {:.0f} (95 %)", *interval) : "one seed");
}

}  // namespace

int goodput(const goodput_options& options) {
  const auto refuse = [](const std::string& why) {
    std::cerr << "troupe goodput: " << why << '\n';
    return exit_bad_input;
  };
  auto reading = lab::read_scenario(options.file);
  for (const auto& p : reading.problems) std::cerr << to_string(p) << '\n';
  if (!reading.ok()) return exit_bad_input;
  auto& s = reading.spec;
  apply(options, s);
  auto how = lab::scheduling_of(s, options.policy);
  if (!how) return refuse(lab::unknown_policy(options.policy));
  if (!options.batching.empty()) how->batching = options.batching;
  if (!options.shedding.empty()) how->shedding = options.shedding;
  if (!options.matchmaking.empty()) how->matchmaking = options.matchmaking;
  if (const auto why = lab::unknown_part(*how); !why.empty()) return refuse(why);
  // Without a given rate: a guess of the result.
  const double rate = options.rate.value_or(0.75 * lab::rate_bound(s));
  if (const auto why = contradiction(options, s, rate); !why.empty()) return refuse(why);
  if (options.duration_s)
    s.search.requests = std::max<uint64_t>(100, static_cast<uint64_t>(*options.duration_s * rate));
  const auto run = lab::engine_of(options.engine == "actors" ? 1 : 0);
  const auto jobs = options.jobs == 0 ? lab::available_cores() : options.jobs;
  const auto found =
      options.rate ? at_rate(s, *how, run, *options.rate, jobs) : lab::estimate_goodput(s, *how, run, jobs);
  options.json ? print_json(options, *how, s, found) : print_table(options, *how, s, found);
  if (found.rate() > 0) return exit_done;
  std::cerr << "troupe goodput: "
            << (options.rate
                    ? fmt::format("no request is within its SLO at {} requests a second", *options.rate)
                    : fmt::format("no rate has at most {:g} % bad", 100 * s.search.max_bad))
            << '\n';
  return exit_failed;
}

}  // namespace troupe
