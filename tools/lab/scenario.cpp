#include "tools/lab/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/lab/load_shape.hpp"

namespace troupe::lab {

uint32_t scenario::model_count() const {
  uint32_t n = 0;
  for (const auto& m : models) n += m.copies;
  return n;
}

uint32_t scenario::gpu_count() const {
  if (gpus_per_model <= 0) return gpus;
  return std::max<uint32_t>(1, static_cast<uint32_t>(std::lround(gpus_per_model * model_count())));
}

namespace {

duration slo_of(const model_group& m) {
  if (!m.slo_of) return m.slo;
  return std::chrono::duration_cast<duration>(m.latency(m.slo_of->rows) * m.slo_of->times);
}

}  // namespace

std::vector<served_model> served_models(const scenario& s) {
  std::vector<served_model> out;
  for (const auto& m : s.models) {
    for (uint32_t i = 0; i < m.copies; ++i) {
      const auto rank = static_cast<double>(out.size() + 1);
      out.push_back({m.copies == 1 ? m.name : fmt::format("{}-{}", m.name, i + 1), m.latency, slo_of(m),
                     m.share * std::pow(rank, -s.zipf), m.max_batch});
    }
  }
  return out;
}

std::string impossible(const scenario& s) {
  if (s.model_count() > max_scenario_models)
    return fmt::format("{} models are more than can be simulated, {}", s.model_count(), max_scenario_models);
  if (s.gpu_count() > max_scenario_gpus)
    return fmt::format("{} GPUs are more than can be simulated, {}", s.gpu_count(), max_scenario_gpus);
  for (const auto& m : s.models) {
    if (m.latency(1) <= duration::zero())
      return fmt::format("model '{}' has a latency of 0; give it an alpha_ms or a beta_ms", m.name);
    const auto min_latency = m.latency(1) + s.network(1) + s.response;
    if (min_latency <= slo_of(m)) continue;
    return fmt::format(
        "model '{}' takes {} ms for a single request, its SLO is {} ms: no request can ever meet it; raise "
        "the SLO",
        m.name, to_ms(min_latency), to_ms(slo_of(m)));
  }
  return {};
}

bool is_waiting(std::string_view policy) {
  return std::find(std::begin(waiting_policies), std::end(waiting_policies), policy) !=
         std::end(waiting_policies);
}

std::optional<scheduling> scheduling_of(const scenario& s, const std::string& policy) {
  if (!is_waiting(policy) || !s.timeout_percent) return scheduling_named(policy);
  if (policy == "timeout") return scheduling_named(fmt::format("timeout({}%)", *s.timeout_percent));
  auto out = scheduling_named(fmt::format("timeout({}%, uncapped)", *s.timeout_percent));
  if (out) out->shedding = "timeout";
  return out;
}

trial trial_of(const scenario& s, const scheduling& how, double rate, uint64_t seed) {
  trial t;
  t.models = served_models(s);
  t.slots = s.gpu_count();
  t.how = how;
  t.arrivals = s.arrivals;
  t.gamma_cv = s.gamma_cv;
  t.network = s.network;
  t.response = s.response;
  t.rate = rate;
  t.warm_up = s.search.warm_up;
  constexpr double longest = 1e9;  // seconds: near the limit of a duration
  t.length = t.warm_up + from_ms(1e3 * std::min(longest, static_cast<double>(s.search.requests) / rate));
  if (s.load) {
    t.length = s.load->length;
    t.changes = changes_of(*s.load, t.models.size());
  }
  if (s.pause) {
    const auto n = t.models.size();
    t.changes = {{s.pause->at, std::vector<double>(n, 0)},
                 {s.pause->at + s.pause->length, std::vector<double>(n, 1)}};
  }
  t.seed = seed;
  return t;
}

double rate_bound(const scenario& s) {
  double gpu_seconds = 0, shares = 0;  // of one request of each model, weighted by share
  for (const auto& m : served_models(s)) {
    const auto room = m.slo - s.response - s.network.control - m.latency.beta;
    const auto each = m.latency.alpha + s.network.data;
    const auto fit = each > duration::zero() ? room / each : m.max_rows;
    const auto rows = std::clamp<int64_t>(fit, 1, m.max_rows);
    gpu_seconds += m.share * to_seconds(m.latency(static_cast<uint32_t>(rows))) / static_cast<double>(rows);
    shares += m.share;
  }
  return static_cast<double>(s.gpu_count()) * shares / gpu_seconds;
}

}  // namespace troupe::lab
