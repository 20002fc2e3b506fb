#include "tools/lab/measures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/lab/goodput_search.hpp"
#include "tools/lab/latency_measure.hpp"
#include "tools/lab/partition_measure.hpp"
#include "tools/lab/sample_statistics.hpp"
#include "tools/lab/scheduler_bench.hpp"
#include "tools/lab/timeline.hpp"

namespace troupe::lab {

namespace {

sample at_rate(const scenario& s, const scheduling& how, engine run, uint64_t seed) {
  auto result = run(trial_of(s, how, *s.rate_rps, seed), nullptr);
  const double good = result.goodput();
  return {good, std::move(result), {}, {}};
}

/// An upper bound of useful GPUs: more GPUs than a run has requests do not serve more.
uint32_t max_useful_gpus(const scenario& s) {
  const double requests = static_cast<double>(s.search.requests) + *s.rate_rps * to_seconds(s.search.warm_up);
  return static_cast<uint32_t>(std::clamp(requests, 64.0, double{max_scenario_gpus}));
}

sample fewest_gpus(const scenario& s, const scheduling& how, engine run, uint64_t seed) {
  auto one = s;
  one.gpus = 1;
  one.gpus_per_model = 0;
  const double min_gpus = *s.rate_rps / rate_bound(one);  // with batches of the largest size
  sample out;
  const auto max = max_useful_gpus(s);
  const auto guess = static_cast<uint32_t>(std::min(std::ceil(min_gpus * 1.3), static_cast<double>(max)));
  const auto n = min_count(guess, max, [&](uint32_t gpus) {
    one.gpus = gpus;
    auto result = run(trial_of(one, how, *s.rate_rps, seed), nullptr);
    if (bad_rate(result, s.search.whose) > s.search.max_bad) return false;
    out.at = std::move(result);
    return true;
  });
  out.value = n == 0 ? std::numeric_limits<double>::infinity() : n;
  return out;
}

sample run_timeline(const scenario& s, const scheduling& how, engine run, uint64_t seed) {
  const auto t = trial_of(s, how, *s.rate_rps, seed);
  timeline watch{t, s.load->step};
  sample out;
  out.at = run(t, &watch);
  out.value = out.at.bad_rate();
  out.tables = watch.tables(t);
  out.metrics["quiet_bad_rate"] = watch.bad_rate_where_busy_below(0.85);
  out.metrics["used_over_busy"] = watch.used_over_busy_below(0.85);
  out.metrics["advice_follows_load"] = watch.advice_follows_load();
  return out;
}

/// Keeps every batch.
class batch_list final : public trial_watch {
 public:
  void on_batch(const batch& b) override {
    batches.rows.push_back({static_cast<double>(b.slot), to_ms(b.started), to_ms(b.ends),
                            static_cast<double>(b.rows), static_cast<double>(b.model)});
    served += b.rows;
  }
  void on_loss(const loss& l) override { losses.rows.push_back({to_ms(l.arrived), to_ms(l.given_up)}); }

  table batches{"batches", {"gpu", "start_ms", "end_ms", "rows", "model"}, {}};
  table losses{"losses", {"arrived_ms", "given_up_ms"}, {}};
  uint64_t served = 0;
};

sample run_trace(const scenario& s, const scheduling& how, engine run, uint64_t seed) {
  batch_list watch;
  sample out;
  const auto t = trial_of(s, how, *s.rate_rps, seed);
  out.at = run(t, &watch);
  out.value = static_cast<double>(watch.losses.rows.size());
  out.metrics["served"] = static_cast<double>(watch.served);
  // in the second half without the very end, where batches are small for lack of requests
  double min_batch = 0;
  const double half = to_ms(t.length) / 2, end = to_ms(t.length) - 2 * to_ms(t.models[0].slo);
  for (const auto& b : watch.batches.rows)
    if (b[1] > half && b[1] < end) min_batch = min_batch == 0 ? b[3] : std::min(min_batch, b[3]);
  out.metrics["min_batch_at_end"] = min_batch;
  out.tables = {std::move(watch.batches), std::move(watch.losses)};
  return out;
}

/// The value of an undefined metric: one seed has no interval.
constexpr double no_interval = std::numeric_limits<double>::quiet_NaN();

/// The median batch size over all requests.
double median_batch(const std::vector<uint64_t>& batches) {
  uint64_t rows = 0, below = 0;
  for (size_t n = 0; n < batches.size(); ++n) rows += n * batches[n];
  for (size_t n = 0; n < batches.size(); ++n) {
    below += n * batches[n];
    if (2 * below >= rows && rows > 0) return static_cast<double>(n);
  }
  return 0;
}

/// Goodput by the paper's formulas for requests at even gaps (§5.3): of the staggered schedule, and of
/// uncoordinated GPUs.
void add_bounds(const scenario& s, point& out) {
  const auto models = served_models(s);
  if (models.size() != 1) return;
  const auto& m = models.front();
  const double n = s.gpu_count(), alpha = to_ms(m.latency.alpha), beta = to_ms(m.latency.beta);
  const auto throughput = [&](double slo) {
    const double b = std::floor((slo - beta) / alpha);
    return b < 1 ? 0 : n * b / (alpha * b + beta) * 1000;
  };
  if (alpha <= 0) return;
  out.metrics["staggered_rps"] = throughput(to_ms(m.slo) / (1 + 1 / n));
  out.metrics["uncoordinated_rps"] = throughput(to_ms(m.slo) / 2);
}

table batch_curve(const std::vector<uint64_t>& batches) {
  table out{"batches", {"rows", "requests_up_to"}, {}};
  double rows = 0, below = 0;
  for (size_t n = 0; n < batches.size(); ++n) rows += static_cast<double>(n * batches[n]);
  for (size_t n = 1; n < batches.size(); ++n) {
    below += static_cast<double>(n * batches[n]);
    if (batches[n] > 0) out.rows.push_back({static_cast<double>(n), below / rows});
  }
  return out;
}

table queueing_curve(const latency_histogram& h) {
  table out{"queueing", {"queueing_ms", "requests_up_to"}, {}};
  double below = 0;
  for (const auto& [latency, count] : h.counts()) {
    below += static_cast<double>(count);
    out.rows.push_back({to_ms(latency), below / static_cast<double>(h.count())});
  }
  return out;
}

}  // namespace

sample take_sample(measure what, const scenario& s, const scheduling& how, engine run, uint64_t seed) {
  switch (what) {
    case measure::goodput: {
      auto found = find_goodput(s, how, run, seed);
      return {found.rate, std::move(found.at), {}, {}};
    }
    case measure::load: return at_rate(s, how, run, seed);
    case measure::fewest_gpus: return fewest_gpus(s, how, run, seed);
    case measure::timeline: return run_timeline(s, how, run, seed);
    case measure::trace: return run_trace(s, how, run, seed);
    case measure::scheduler: return measure_scheduler(s, how);
    case measure::partition: break;  // no trial: partition_measure.hpp
    case measure::llm: break;        // llm_measure.hpp
    case measure::latency: break;    // latency_measure.hpp
    case measure::scaling: break;    // scaling_measure.hpp
    case measure::chain: break;      // chain_measure.hpp
  }
  return {};
}

void summarise_means(const std::vector<sample>& samples, point& out) {
  for (const auto& [name, _] : samples.front().metrics) {
    std::vector<double> values;
    for (const auto& s : samples) values.push_back(s.metrics.at(name));
    out.metrics[name] = mean(values);
  }
  out.tables = samples.front().tables;
}

void summarise(const experiment& e, const scenario& s, const std::vector<sample>& samples, point& out) {
  const double precision = e.what == measure::goodput ? s.search.precision : 0;
  const auto average = [&](auto f) {
    std::vector<double> xs;
    for (const auto& x : samples) xs.push_back(static_cast<double>(f(x)));
    return std::pair{mean(xs), ci95(xs, precision).value_or(no_interval)};
  };
  auto& m = out.metrics;
  if (e.what == measure::partition) return summarise_partitions(samples, out);
  if (e.what == measure::llm || e.what == measure::scaling || e.what == measure::chain)
    return summarise_means(samples, out);
  if (e.what == measure::latency) return summarise_latencies(samples, out);
  if (e.what == measure::scheduler) {  // there is no run to inspect
    m["scheduled_rps"] = average([](const auto& x) { return x.value; }).first;
    for (const auto& [name, _] : samples.front().metrics)
      m[name] = average([&, &key = name](const auto& x) { return x.metrics.at(key); }).first;
    return;
  }
  std::tie(m[std::string{main_metric(e.what)}], m["ci95"]) = average([](const auto& x) { return x.value; });
  if (e.what != measure::timeline)
    m["bad_rate"] = average([&](const auto& x) { return bad_rate(x.at, s.search.whose); }).first;
  m["worst_bad_rate"] = average([](const auto& x) { return x.at.worst_bad_rate(); }).first;
  m["goodput_rps"] = e.what == measure::goodput ? m["goodput_rps"]
                                                : average([](const auto& x) { return x.at.goodput(); }).first;
  m["mean_batch"] = average([](const auto& x) { return x.at.mean_batch(); }).first;
  m["gpu_busy"] = average([](const auto& x) { return x.at.busy.empty() ? 0 : x.at.busy_share(); }).first;
  for (const auto& [name, _] : samples.front().metrics)
    m[name] = average([&](const auto& x) { return x.metrics.at(name); }).first;

  std::vector<uint64_t> batches;
  latency_histogram queueing;
  for (const auto& x : samples) {
    if (batches.size() < x.at.batches.size()) batches.resize(x.at.batches.size());
    for (size_t n = 0; n < x.at.batches.size(); ++n) batches[n] += x.at.batches[n];
    queueing.merge(x.at.queueing);
  }
  m["median_batch"] = median_batch(batches);
  m["queue_p50_ms"] = to_ms(queueing.quantile(0.5));
  m["queue_p99_ms"] = to_ms(queueing.quantile(0.99));
  m["queue_max_ms"] = to_ms(queueing.max());
  if (e.what == measure::goodput) add_bounds(s, out);
  out.tables = samples.front().tables;
  if (e.keeps == curve::batches) out.tables.push_back(batch_curve(batches));
  if (e.keeps == curve::queueing) out.tables.push_back(queueing_curve(queueing));

  auto known = metrics_of(e.what);
  std::erase_if(m,
                [&](const auto& x) { return std::find(known.begin(), known.end(), x.first) == known.end(); });
}

}  // namespace troupe::lab
