#include "tools/bench_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <caf/all.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "actors/system_config.hpp"
#include "tools/schedule_trial.hpp"

namespace troupe {
namespace {

constexpr double bad_rate_allowed = 0.01;
constexpr int trials = 10;
/// Symphony's published code, everything included: 0.31–0.36 million.
constexpr double symphony_per_cpu_second = 0.36e6;

/// What the GPUs could do if batches of the largest size that meets the SLO followed each other without a
/// gap, evenly staggered: (1 + 1/N) ℓ(b) ≤ SLO gives N b / ℓ(b) requests a second.
struct staggered {
  double batch, rate;
};
staggered bound_of(const bench_schedule_options& o) {
  const double n = o.gpus;
  const double batch = std::floor((o.slo_ms / (1 + 1 / n) - o.beta_ms) / o.alpha_ms);
  return {batch, batch < 1 ? 0 : 1e3 * n * batch / (o.alpha_ms * batch + o.beta_ms)};
}

struct found {
  schedule_trial best;
  double rate = 0;
};

/// What a stage takes of the CPU time of a run of its own, with the clocks in it.
struct share {
  const char* name;
  double of_cpu, ns_a_request;
};

std::vector<share> profile(caf::actor_system& system, const bench_schedule_options& o, double rate) {
  stage_clock times;
  const auto t = run_schedule_trial(system, o, rate, &times);
  const double requests = rate * to_seconds(schedule_trial::warmup + schedule_trial::measured);
  const double cpu_ns = 1e9 * t.cpu / static_cast<double>(t.offered);  // a request
  constexpr std::pair<stage, const char*> stages[] = {
      {stage::clients, "clients and their gateway"}, {stage::model_queue, "model_queue"},
      {stage::batching, "its batching policy"},      {stage::rank_arbiter, "rank_arbiter"},
      {stage::matchmaking, "its matchmaking"},       {stage::gpu_worker, "gpu_worker and its GPU"},
      {stage::handover, "handing messages over"},
  };
  std::vector<share> out;
  double rest = cpu_ns;
  for (const auto& [s, name] : stages) {
    const double ns = static_cast<double>(times.of(s).count()) / requests;
    out.push_back({name, ns / cpu_ns, ns});
    rest -= ns;
  }
  rest = std::max(0.0, rest);  // on a busy machine the stages' clocks also count when others run
  out.push_back({"turns: taking messages in, freeing them, sleep", rest / cpu_ns, rest});
  out.push_back(
      {"of all that, in the kernel", t.kernel / t.cpu, 1e9 * t.kernel / static_cast<double>(t.offered)});
  return out;
}

found search(caf::actor_system& system, const bench_schedule_options& o, double bound) {
  if (o.rate > 0) return {run_schedule_trial(system, o, o.rate), o.rate};
  found f;
  double low = 0, high = 1.02 * bound;
  double rate = 0.9 * bound;
  for (int i = 0; i < trials && high - low > 0.004 * bound; ++i) {
    const auto t = run_schedule_trial(system, o, rate);
    if (t.bad_rate() <= bad_rate_allowed) {
      low = rate;
      f = {t, rate};
    } else {
      high = rate;
    }
    // Far from the bound something else than the GPUs limits: come down fast until a rate is served.
    rate = low == 0 ? 0.8 * high : (low + high) / 2;
  }
  return f;
}

void print(const bench_schedule_options& o, const found& f, const staggered& bound,
           const std::vector<share>& shares) {
  struct row {
    std::string name;
    double value;
    std::string unit;
    double reference;
  };
  const double per_second = f.best.per_second(), per_cpu_second = f.best.per_cpu_second();
  const row rows[] = {
      {"requests, against the staggered schedule", per_second, "1/s", bound.rate},
      {"batch size, against the staggered schedule", f.best.mean_batch(), "rows", bound.batch},
      {"requests a CPU second, against Symphony's code", per_cpu_second, "1/s", symphony_per_cpu_second},
  };
  if (o.json) {
    nlohmann::ordered_json doc{{"models", o.models},
                               {"gpus", o.gpus},
                               {"domains", o.domains},
                               {"requests_per_s", per_second},
                               {"requests_per_cpu_s", per_cpu_second},
                               {"bad_rate", f.best.bad_rate()},
                               {"mean_batch", f.best.mean_batch()},
                               {"rows", nlohmann::ordered_json::array()}};
    for (const auto& r : rows)
      doc["rows"].push_back({{"name", r.name},
                             {"value", r.value},
                             {"unit", r.unit},
                             {"reference", r.reference},
                             {"ratio", r.value / r.reference}});
    for (const auto& x : shares)
      doc["profile"].push_back({{"stage", x.name}, {"share", x.of_cpu}, {"ns_a_request", x.ns_a_request}});
    fmt::print("{}\n", doc.dump(2));
    return;
  }
  fmt::print("{} models, {} GPUs: {:.0f} requests/s, {:.2f} % bad, {:.0f} requests per CPU second\n\n",
             o.models, o.gpus, per_second, 100 * f.best.bad_rate(), per_cpu_second);
  fmt::print("{:<48} {:>12} {:>5} {:>12} {:>6}\n", "", "value", "unit", "reference", "ratio");
  for (const auto& r : rows)
    fmt::print("{:<48} {:>12.1f} {:>5} {:>12.1f} {:>6.3f}\n", r.name, r.value, r.unit, r.reference,
               r.value / r.reference);
  fmt::print("\n{:<48} {:>12} {:>13}\n", "where the CPU time goes (a second, profiled run)", "share",
             "ns a request");
  for (const auto& x : shares)
    fmt::print("{:<48} {:>10.1f} % {:>13.0f}\n", x.name, 100 * x.of_cpu, x.ns_a_request);
}

}  // namespace

int bench_schedule(const bench_schedule_options& o) {
  const auto complain = [](const std::string& what) {
    fmt::print(stderr, "bench schedule: {}\n", what);
    return 2;
  };
  if (o.models == 0 || o.models > 65535 || o.gpus == 0)
    return complain("needs 1-65535 models and 1 GPU or more");
  if (o.domains == 0 || o.domains > o.models || o.domains > o.gpus)
    return complain("needs a model and a GPU for each of the --domains");
  if (o.alpha_ms <= 0 || o.beta_ms < 0)
    return complain("--alpha-ms must be positive, --beta-ms not negative");
  if (o.rate < 0) return complain("--rate must not be negative");
  if (make_batching(o.batching, "window", {}) == nullptr)
    return complain(
        fmt::format("unknown batching '{}'; known: {}", o.batching, fmt::join(batchings().names(), ", ")));
  const auto bound = bound_of(o);
  if (bound.rate == 0)
    return complain(fmt::format("no batch meets an SLO of {} ms: raise --slo-ms", o.slo_ms));

  threaded_config config{1};
  caf::actor_system system(config);
  const auto f = search(system, o, bound.rate);
  if (f.rate == 0) {
    fmt::print(stderr, "bench schedule: no rate had {} % of bad requests or fewer; is the machine busy?\n",
               100 * bad_rate_allowed);
    return 1;
  }
  print(o, f, bound, profile(system, o, f.rate));
  return 0;
}

}  // namespace troupe
