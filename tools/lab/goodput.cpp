#include "tools/lab/goodput.hpp"

#include "tools/lab/goodput_search.hpp"
#include "tools/lab/parallel.hpp"
#include "tools/lab/sample_statistics.hpp"

namespace troupe::lab {

engine engine_of(size_t index) { return index == 0 ? &run_direct : &run_actors; }

double bad_rate(const trial_result& r, criterion whose) {
  return whose == criterion::worst ? r.worst_bad_rate() : r.bad_rate();
}

goodput_sample find_goodput(const scenario& s, const scheduling& how, engine run, uint64_t seed) {
  goodput_sample out{.seed = seed, .rate = 0, .at = {}};
  const double bound = rate_bound(s);
  const rate_search search{
      .guess = 0.75 * bound, .precision = s.search.precision, .min = bound / 500, .max = 2 * bound};
  highest_rate(search, [&](double rate) {
    auto result = run(trial_of(s, how, rate, seed), nullptr);
    if (bad_rate(result, s.search.whose) > s.search.max_bad) return false;
    if (rate > out.rate) out = {seed, rate, std::move(result)};
    return true;
  });
  return out;
}

goodput_estimate estimate_goodput(const scenario& s, const scheduling& how, engine run, uint32_t threads) {
  goodput_estimate out;
  out.precision = s.search.precision;
  out.samples.resize(s.search.seeds);
  for_each_parallel(out.samples.size(), threads,
                    [&](size_t i) { out.samples[i] = find_goodput(s, how, run, s.search.first_seed + i); });
  return out;
}

namespace {

template <class F>
std::vector<double> each(const std::vector<goodput_sample>& samples, F f) {
  std::vector<double> out;
  for (const auto& x : samples) out.push_back(f(x));
  return out;
}

}  // namespace

double goodput_estimate::rate() const {
  return mean(each(samples, [](const auto& x) { return x.rate; }));
}
std::optional<double> goodput_estimate::ci95() const {
  return lab::ci95(each(samples, [](const auto& x) { return x.rate; }), precision);
}
double goodput_estimate::bad_rate(criterion whose) const {
  return mean(each(samples, [&](const auto& x) { return lab::bad_rate(x.at, whose); }));
}
double goodput_estimate::mean_batch() const {
  return mean(each(samples, [](const auto& x) { return x.rate > 0 ? x.at.mean_batch() : 0; }));
}
double goodput_estimate::busy() const {
  return mean(each(samples, [](const auto& x) { return x.rate > 0 ? x.at.busy_share() : 0; }));
}

}  // namespace troupe::lab
