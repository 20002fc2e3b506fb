#include "tools/lab/scaling_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

#include "tools/lab/measures.hpp"
#include "tools/lab/scaling_run.hpp"

namespace troupe::lab {
namespace {

using sim::image_origin;

bool uses_network(std::string_view policy) { return policy == "blitz" || policy == "network"; }
bool uses_domains(std::string_view policy) { return policy == "blitz" || policy == "scale_up"; }

/// The place is in the scale-up domain, or on the host, of the first one.
bool is_near(const scaling_setup& t, uint32_t place) { return place / t.per_domain == 0; }

link_spec link_of(const scaling_setup& t, std::string_view policy, uint32_t place) {
  link_spec out;
  out.gbit_per_s = t.gpus * (t.network_gbit_per_s > 0 ? t.network_gbit_per_s : 10);
  out.host_to_device_gbit_per_s = t.gpus * t.host_gbit_per_s;
  const bool reads_host_memory = policy == "host" || (policy == "serverless" && is_near(t, place));
  out.ssd_gbit_per_s = reads_host_memory ? 0 : t.gpus * t.ssd_gbit_per_s;  // the leader would predict by it
  if (!uses_domains(policy)) return out;
  out.scale_up_domain = policy == "scale_up" ? "all" : fmt::format("domain{}", place / t.per_domain);
  out.scale_up_gbit_per_s = t.gpus * t.scale_up_gbit_per_s;
  return out;
}

std::vector<image_origin> origins_of(const scaling_setup& t, std::string_view policy) {
  std::vector<image_origin> out;
  if (uses_network(policy) || uses_domains(policy)) return out;
  for (uint32_t i = 0; i < t.to; ++i)
    out.push_back(policy == "host" || (policy == "serverless" && is_near(t, i)) ? image_origin::host
                                                                                : image_origin::ssd);
  return out;
}

/// The slowest rate at which a GPU of a new instance gets its weights.
double slowest_gbit_per_s(const scaling_setup& t, std::string_view policy) {
  const bool all_near = t.to <= t.per_domain;
  const double ssd = t.host_gbit_per_s > 0 ? std::min(t.ssd_gbit_per_s, t.host_gbit_per_s) : t.ssd_gbit_per_s;
  if (policy == "network") return t.network_gbit_per_s;
  if (policy == "scale_up") return t.scale_up_gbit_per_s;
  if (policy == "blitz") return all_near ? t.scale_up_gbit_per_s : t.network_gbit_per_s;
  if (policy == "host") return t.host_gbit_per_s;
  return policy == "serverless" && all_near ? t.host_gbit_per_s : ssd;
}

scaling_run run_of(const scaling_setup& t, std::string_view policy) {
  scaling_run r;
  r.bytes = t.model_gb * 1e9;
  r.layers = t.layers;
  r.chunk_bytes = t.chunk_mib * (1 << 20) * t.gpus;  // of each GPU
  r.window = t.window;
  r.from = t.from;
  r.to = t.to;
  r.origins = origins_of(t, policy);
  for (uint32_t i = 0; i < t.to; ++i) r.places.push_back(link_of(t, policy, i));
  return r;
}

double in_s(const std::optional<duration>& t, uint32_t place, duration length) {
  if (!t)
    throw std::runtime_error(fmt::format("the instance in place {} was not ready {:.0f} s after the order",
                                         place, to_seconds(length)));
  return to_seconds(*t);
}

}  // namespace

void read_scaling(section& root, std::optional<scaling_setup>& out) {
  if (!root.has("scaling")) return root.unused("scaling");
  auto* s = root.table("scaling");
  if (s == nullptr) return;
  auto t = out.value_or(scaling_setup{});
  const auto whole = [&](std::string_view key, int64_t min, int64_t max, uint32_t& value) {
    value = static_cast<uint32_t>(s->integer(key, min, max, value));
  };
  const auto rate = [&](std::string_view key, double& value) {
    if (s->has(key))
      value = s->number(key, "Gbit/s", 0.001, 1e5);
    else
      s->unused(key);
  };
  t.model_gb = s->number("model_gb", "gigabytes", 0.001, 1e5, t.model_gb);
  whole("layers", 1, 1024, t.layers);
  whole("gpus", 1, 64, t.gpus);
  rate("network_gbit_per_s", t.network_gbit_per_s);
  rate("scale_up_gbit_per_s", t.scale_up_gbit_per_s);
  rate("host_gbit_per_s", t.host_gbit_per_s);
  rate("ssd_gbit_per_s", t.ssd_gbit_per_s);
  whole("from", 1, 64, t.from);
  whole("to", 1, 64, t.to);
  whole("per_domain", 1, 64, t.per_domain);
  t.chunk_mib = s->number("chunk_mib", "MiB", 0.0625, 1024, t.chunk_mib);
  whole("window", 1, 64, t.window);
  // What a case takes over was judged where it stands.
  const auto gives = [&](std::initializer_list<std::string_view> keys) {
    return !out || std::ranges::any_of(keys, [&](auto key) { return s->has(key); });
  };
  if (t.to <= t.from && gives({"from", "to"}))
    s->refuse("to", fmt::format("must be more than from = {}: the measure scaling adds instances", t.from));
  if (const auto chunks = t.model_gb * 1e9 / (t.chunk_mib * (1 << 20) * t.gpus);
      chunks > 100'000 && gives({"model_gb", "gpus", "chunk_mib"}))
    s->refuse("chunk_mib", fmt::format("makes {:.0f} chunks of {} GB; at most 100000 can be simulated",
                                       chunks, t.model_gb));
  out = t;
}

std::string missing_rate(const scaling_setup& t, std::string_view policy) {
  const auto needs = [&](std::string_view key) {
    return fmt::format("{} is missing; the policy {} needs it", key, policy);
  };
  const bool all_near = t.to <= t.per_domain;
  if (uses_domains(policy) && t.scale_up_gbit_per_s == 0 && (policy != "blitz" || t.per_domain > 1))
    return needs("scale_up_gbit_per_s");
  if (uses_network(policy) && t.network_gbit_per_s == 0 && (policy != "blitz" || !all_near))
    return needs("network_gbit_per_s");
  if ((policy == "host" || (policy == "serverless" && t.per_domain > 1)) && t.host_gbit_per_s == 0)
    return needs("host_gbit_per_s");
  if ((policy == "ssd" || (policy == "serverless" && !all_near)) && t.ssd_gbit_per_s == 0)
    return needs("ssd_gbit_per_s");
  return {};
}

sample measure_scaling(const scenario& s, std::string_view policy, uint64_t seed) {
  const auto& t = *s.scaling;
  auto r = run_of(t, policy);
  const double line_s = r.bytes * 8 / (slowest_gbit_per_s(t, policy) * t.gpus * 1e9);
  r.length =
      5s + from_ms(line_s * 1000 * (uses_network(policy) ? 2 : 1.5) * (policy == "scale_up" ? t.to : 1));
  const auto times = run_scaling(r, seed);
  std::vector<double> ready;
  double weights = 0, near = 0, planned = 0;
  for (uint32_t i = t.from; i < t.to; ++i) {
    ready.push_back(in_s(times.ready[i], i, r.length));
    weights = std::max(weights, in_s(times.weights[i + 1], i, r.length));
    planned = std::max(planned, to_seconds(times.predicted[i]));
    if (is_near(t, i)) near = std::max(near, ready.back());
  }
  std::ranges::sort(ready);
  sample out;
  out.value = ready.back();
  out.metrics = {{"ready_s", ready.back()},
                 {"first_ready_s", ready.front()},
                 {"weights_s", weights},
                 {"line_s", line_s},
                 {"network_gb", static_cast<double>(times.network) / 1e9},
                 {"scale_up_gb", static_cast<double>(times.scale_up) / 1e9},
                 {"host_gb", static_cast<double>(times.host) / 1e9},
                 {"ssd_gb", static_cast<double>(times.ssd) / 1e9}};
  if (near > 0) out.metrics["domain_ready_s"] = near;
  if (planned > 0) out.metrics["planned_s"] = planned;
  table over_time{"", {"time_s", "instances"}, {{0.0, static_cast<double>(t.from)}}};
  for (const auto at : ready) over_time.rows.push_back({at, over_time.rows.back()[1] + 1});
  out.tables = {over_time};
  return out;
}

}  // namespace troupe::lab
