#include "tools/bench/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <caf/all.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "actors/runtime/system_config.hpp"
#include "messages/cluster/cluster.hpp"
#include "policies/registry/batchings.hpp"
#include "tools/bench/arbiter_ceiling.hpp"
#include "tools/bench/bare_scheduler.hpp"
#include "tools/bench/row.hpp"
#include "tools/bench/schedule_trial.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/lab/parallel.hpp"

namespace troupe {
namespace {

constexpr double bad_rate_allowed = 0.01;
constexpr int rates_to_try = 10;
/// Symphony's published code, all work included: 0.31–0.36 million.
constexpr double symphony_per_cpu_second = 0.36e6;

/// The GPUs' rate if batches of the largest size that meets the SLO follow each other without a gap, evenly
/// staggered: (1 + 1/N) ℓ(b) ≤ SLO gives N b / ℓ(b) requests a second.
struct staggered {
  double batch, rate;
};
staggered bound_of(const bench_schedule_options& o) {
  const double n = o.gpus;
  const double batch = std::floor((o.slo_ms / (1 + 1 / n) - o.beta_ms) / o.alpha_ms);
  return {batch, batch < 1 ? 0 : 1e3 * n * batch / (o.alpha_ms * batch + o.beta_ms)};
}

/// Requests a second that a core of 2 GHz sustains, clients and GPUs included, with room to spare.
constexpr double a_thread_carries = 1e6;

/// Chooses as many domains as a load of `rate` requests a second needs threads, at most one per core. A
/// single domain with too much load for one thread gets a second thread for clients and GPUs. Values from the
/// user stay.
void choose_threads(bench_schedule_options& o, double rate) {
  const uint32_t cores = lab::available_cores();
  const double wanted = std::max(1.0, std::ceil(rate / a_thread_carries));
  const auto max_domains = std::min({o.threads > 0 ? o.threads : cores, o.models, o.gpus});
  if (o.domains == 0) o.domains = static_cast<uint32_t>(std::min<double>(wanted, max_domains));
  if (o.threads == 0) o.threads = o.domains == 1 && wanted > 1 && cores > 1 ? 2 : o.domains;
}

struct found {
  schedule_trial best;
  double rate = 0;
};

/// A stage's share of the CPU time, from a separate run with timing.
struct share {
  const char* name;
  double of_cpu, ns_a_request;
};

std::vector<share> profile(caf::actor_system& system, const bench_schedule_options& o, double rate) {
  const auto t = run_schedule_trial(system, o, rate, true);
  const double requests = rate * to_seconds(schedule_trial::warmup + schedule_trial::measured);
  const double cpu_ns = 1e9 * t.cpu.all / static_cast<double>(t.offered);  // a request
  constexpr std::pair<stage, const char*> stages[] = {
      {stage::clients, "clients and their gateway"}, {stage::model_queue, "model_queue"},
      {stage::batching, "its batching policy"},      {stage::rank_arbiter, "rank_arbiter"},
      {stage::matchmaking, "its matchmaking"},       {stage::gpu_worker, "gpu_worker and its GPU"},
      {stage::handover, "handing messages over"},
  };
  std::vector<share> out;
  double rest = cpu_ns;
  for (const auto& [s, name] : stages) {
    const double ns = static_cast<double>(t.stages[static_cast<size_t>(s)].count()) / requests;
    out.push_back({name, ns / cpu_ns, ns});
    rest -= ns;
  }
  rest = std::max(0.0, rest);  // on a busy machine the stages' clocks also count the time of other processes
  out.push_back({"turns: taking messages in, freeing them, sleep", rest / cpu_ns, rest});
  out.push_back({"of all that, in the kernel", t.cpu.kernel / t.cpu.all,
                 1e9 * t.cpu.kernel / static_cast<double>(t.offered)});
  return out;
}

found search(caf::actor_system& system, const bench_schedule_options& o, double bound) {
  if (o.rate > 0) return {run_schedule_trial(system, o, o.rate), o.rate};
  found f;
  double low = 0, high = std::min(1.02 * bound, max_scheduled_rate);
  double rate = std::min(0.9 * bound, high);
  for (int i = 0; i < rates_to_try && high - low > 0.004 * bound; ++i) {
    const auto t = run_schedule_trial(system, o, rate);
    if (t.bad_rate() <= bad_rate_allowed) {
      low = rate;
      f = {t, rate};
    } else {
      high = rate;
    }
    // Far from the bound something other than the GPUs limits: lower the rate fast until one is served.
    rate = low == 0 ? 0.8 * high : (low + high) / 2;
  }
  return f;
}

nlohmann::ordered_json quantiles(const latency_histogram& h, double unit_ns) {
  const auto at = [&](double q) { return static_cast<double>(h.quantile(q).count()) / unit_ns; };
  return {{"p50", at(0.5)}, {"p99", at(0.99)}};
}

void print(const bench_schedule_options& o, const found& f, const staggered& bound,
           const std::vector<share>& shares, double matches, const scheduler_cost& alone) {
  const double per_second = f.best.per_second(), per_cpu_second = f.best.per_cpu_second();
  const std::vector<bench_row> rows = {
      {"requests, against the staggered schedule", per_second, "1/s", bound.rate},
      {"batch size, against the staggered schedule", f.best.mean_batch(), "rows", bound.batch},
      {"requests a CPU second, against Symphony's code", per_cpu_second, "1/s", symphony_per_cpu_second},
  };
  if (o.json) {
    nlohmann::ordered_json doc{{"models", o.models},
                               {"gpus", o.gpus},
                               {"domains", o.domains},
                               {"threads", o.threads},
                               {"requests_per_s", per_second},
                               {"requests_per_cpu_s", per_cpu_second},
                               {"bad_rate", f.best.bad_rate()},
                               {"mean_batch", f.best.mean_batch()},
                               {"admit_to_grant_ms", quantiles(f.best.admit_to_grant, 1e6)},
                               {"grant_behind_us", quantiles(f.best.grant_behind, 1e3)},
                               {"matches_per_s", matches},
                               {"scheduler_alone_ns_a_request", alone.ns},
                               {"decision_log_ns_a_request", alone.logged_ns - alone.ns},
                               {"decision_log_share", (alone.logged_ns - alone.ns) * per_cpu_second / 1e9},
                               {"rows", rows_json(rows)}};
    for (const auto& x : shares)
      doc["profile"].push_back({{"stage", x.name}, {"share", x.of_cpu}, {"ns_a_request", x.ns_a_request}});
    fmt::print("{}\n", doc.dump(2));
    return;
  }
  fmt::print(
      "{} models, {} GPUs, {} domain{} on {} thread{}: {:.0f} requests/s, {:.2f} % bad, {:.0f} requests per "
      "CPU "
      "second\n\n",
      o.models, o.gpus, o.domains, o.domains == 1 ? "" : "s", o.threads, o.threads == 1 ? "" : "s",
      per_second, 100 * f.best.bad_rate(), per_cpu_second);
  fmt::print("{:<48} {:>12} {:>5} {:>12} {:>6}\n", "", "value", "unit", "reference", "ratio");
  for (const auto& r : rows)
    fmt::print("{:<48} {:>12.1f} {:>5} {:>12.1f} {:>6.3f}\n", r.name, r.value, r.unit, *r.reference,
               r.ratio());
  const auto ms = [](duration d) { return to_ms(d); };
  const auto &waited = f.best.admit_to_grant, &behind = f.best.grant_behind;
  fmt::print(
      "\nadmitted to granted: half in {:.2f} ms, 99 % in {:.2f} ms; grants later than planned: half by "
      "{:.0f} us, 99 % by {:.0f} us\n",
      ms(waited.quantile(0.5)), ms(waited.quantile(0.99)), 1e3 * ms(behind.quantile(0.5)),
      1e3 * ms(behind.quantile(0.99)));
  fmt::print("the arbiter alone: {:.2f} million matches a CPU second\n", matches / 1e6);
  fmt::print(
      "queues and arbiter alone: {:.2f} million requests a CPU second, {:.0f} ns each; a decision log adds "
      "{:.0f} ns, {:.1f} % of what a request took in this run\n",
      1e3 / alone.ns, alone.ns, alone.logged_ns - alone.ns,
      100 * (alone.logged_ns - alone.ns) * per_cpu_second / 1e9);
  fmt::print("\n{:<48} {:>12} {:>13}\n", "where the CPU time goes (a second, profiled run)", "share",
             "ns a request");
  for (const auto& x : shares)
    fmt::print("{:<48} {:>10.1f} % {:>13.0f}\n", x.name, 100 * x.of_cpu, x.ns_a_request);
}

/// One run per cell: a search in each would take an hour.
void sweep(caf::actor_system& system, const bench_schedule_options& asked) {
  constexpr uint32_t models[] = {1, 8, 64, 512}, gpus[] = {1, 16, 256, 1024, 4096};
  constexpr double usual_rate = 0.5e6;
  auto doc = nlohmann::ordered_json::array();
  if (!asked.json)
    fmt::print("{:>6} {:>6} {:>12} {:>7} {:>16} {:>22} {:>18} {:>16}\n", "models", "GPUs", "requests/s",
               "bad %", "a CPU second", "admit-grant p50/99 ms", "behind p50/99 us", "matches/s alone");
  for (const auto m : models) {
    for (const auto g : gpus) {
      auto o = asked;
      o.models = m;
      o.gpus = g;
      const double rate = std::min(0.9 * bound_of(o).rate, asked.rate > 0 ? asked.rate : usual_rate);
      choose_threads(o, rate);
      const auto t = run_schedule_trial(system, o, rate);
      const auto waited = quantiles(t.admit_to_grant, 1e6), behind = quantiles(t.grant_behind, 1e3);
      const double matches = arbiter_ceiling(m, g);
      doc.push_back({{"models", m},
                     {"gpus", g},
                     {"requests_per_s", t.per_second()},
                     {"bad_rate", t.bad_rate()},
                     {"requests_per_cpu_s", t.per_cpu_second()},
                     {"admit_to_grant_ms", waited},
                     {"grant_behind_us", behind},
                     {"matches_per_s", matches}});
      if (!asked.json)
        fmt::print(
            "{:>6} {:>6} {:>12.0f} {:>7.2f} {:>16.0f} {:>11.2f} {:>10.2f} {:>9.0f} {:>8.0f} {:>16.0f}\n", m,
            g, t.per_second(), 100 * t.bad_rate(), t.per_cpu_second(), waited["p50"].get<double>(),
            waited["p99"].get<double>(), behind["p50"].get<double>(), behind["p99"].get<double>(), matches);
      std::fflush(stdout);
    }
  }
  if (asked.json) fmt::print("{}\n", doc.dump(2));
}

}  // namespace

int bench_schedule(const bench_schedule_options& asked) {
  auto o = asked;
  const auto complain = [](const std::string& what) {
    report("bench schedule: {}", what);
    return exit_bad_input;
  };
  if (o.domains > o.models || o.domains > o.gpus)
    return complain("needs a model and a GPU for each of the --domains");
  if (make_batching(o.batching, "window", {}) == nullptr)
    return complain(
        fmt::format("unknown batching '{}'; known: {}", o.batching, fmt::join(batchings().names(), ", ")));
  const auto bound = bound_of(o);
  if (bound.rate == 0)
    return complain(fmt::format("no batch meets an SLO of {} ms: raise --slo-ms", o.slo_ms));
  if (o.sweep && (o.domains > 0 || o.threads > 0))
    return complain(
        "--sweep takes as many domains and threads as each run needs: leave out --domains and --threads");
  choose_threads(o, o.rate > 0 ? o.rate : std::min(bound.rate, max_scheduled_rate));
  if (o.threads != o.domains && o.threads != o.domains + 1)
    return complain(fmt::format(
        "--threads must be {}, one for each of the --domains, or {}, one more for all clients and GPUs",
        o.domains, o.domains + 1));

  threaded_config config{1};
  caf::actor_system system(config);
  if (o.sweep) {
    sweep(system, asked);
    return exit_done;
  }
  const auto f = search(system, o, bound.rate);
  if (f.rate == 0) {
    const auto why =
        fmt::format("bench schedule: no rate had at most {} % of bad requests; is the machine busy?",
                    100 * bad_rate_allowed);
    if (o.json) print_document(nlohmann::ordered_json{{"requests_per_s", 0}, {"error", why}}.dump());
    report("{}", why);
    return exit_failed;
  }
  const auto alone = cost_of_scheduling({o.models,
                                         o.gpus,
                                         {from_ms(o.alpha_ms), from_ms(o.beta_ms)},
                                         from_ms(o.slo_ms),
                                         o.batching,
                                         f.best.per_second(),
                                         o.decision_log > 0 ? o.decision_log : policy_spec{}.decision_log});
  print(o, f, bound, profile(system, o, f.rate), arbiter_ceiling(o.models, o.gpus), alone);
  return exit_done;
}

}  // namespace troupe
