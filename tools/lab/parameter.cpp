#include "tools/lab/parameter.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::lab {

namespace {

void set_gamma(scenario& s, double shape) {
  s.arrivals = arrival_kind::gamma;
  s.gamma_cv = 1 / std::sqrt(shape);
}

void set_slo(scenario& s, double ms) {
  for (auto& m : s.models) {
    m.slo = from_ms(ms);
    m.slo_of.reset();
  }
}

void set_gpus(scenario& s, double n) {
  s.gpus = static_cast<uint32_t>(n);
  s.gpus_per_model = 0;
}

void set_copies(scenario& s, double n) {
  for (auto& m : s.models) m.copies = static_cast<uint32_t>(n);
}

void set(scenario& s, uint32_t latency_setup::*what, double n) {
  if (s.latency) *s.latency.*what = static_cast<uint32_t>(n);
}

constexpr double hour_in_ms = 3.6e6;

constexpr parameter all_parameters[]{
    {"gpus", "GPUs", 1, 1 << 20, set_gpus},
    {"gpus_per_model", "GPUs a model", 1e-6, 1e6, [](scenario& s, double x) { s.gpus_per_model = x; }},
    {"copies", "models", 1, 4096, set_copies},
    {"slo_ms", "milliseconds", 0.001, hour_in_ms, set_slo},
    {"alpha_ms", "milliseconds", 0, hour_in_ms,
     [](scenario& s, double ms) {
       for (auto& m : s.models) m.latency.alpha = from_ms(ms);
     }},
    {"beta_ms", "milliseconds", 0, hour_in_ms,
     [](scenario& s, double ms) {
       for (auto& m : s.models) m.latency.beta = from_ms(ms);
     }},
    {"zipf", "a number", 0, 10, [](scenario& s, double x) { s.zipf = x; }},
    {"gamma_shape", "a number", 1e-4, 1e4, set_gamma},
    {"network_us", "microseconds", 0, hour_in_ms,
     [](scenario& s, double us) { s.network.control = from_ms(us / 1000); }},
    {"data_us", "microseconds", 0, hour_in_ms,
     [](scenario& s, double us) { s.network.data = from_ms(us / 1000); }},
    {"rate_rps", "requests a second", 1e-3, 1e9, [](scenario& s, double x) { s.rate_rps = x; }},
    {"cores", "cores", 1, 1024, [](scenario& s, double n) { s.cores = static_cast<uint32_t>(n); }},
    {"domains", "domains", 1, 64, [](scenario& s, double n) { s.domains = static_cast<uint32_t>(n); }},
    {"batch", "rows", 1, 256, [](scenario& s, double n) { set(s, &latency_setup::batch, n); }},
    {"rank", "of an adapter", 1, 256, [](scenario& s, double n) { set(s, &latency_setup::rank, n); }},
    {"context", "positions", 1, 1 << 14, [](scenario& s, double n) { set(s, &latency_setup::context, n); }},
    {"timeout_percent", "percent of the SLO", 0, 100, [](scenario& s, double x) { s.timeout_percent = x; }},
};

}  // namespace

std::span<const parameter> parameters() { return all_parameters; }

const parameter* parameter_named(std::string_view name) {
  const auto found = std::find_if(std::begin(all_parameters), std::end(all_parameters),
                                  [&](const auto& p) { return p.name == name; });
  return found == std::end(all_parameters) ? nullptr : found;
}

}  // namespace troupe::lab
