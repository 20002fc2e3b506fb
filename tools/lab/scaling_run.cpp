#include "tools/lab/scaling_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace troupe::lab {
namespace {

constexpr duration before_orders = 1s;  // so that the leader knows all nodes

cluster_spec nodes_of(const scaling_run& r) {
  cluster_spec c;
  c.name = "scaling";
  c.hash = "0000000000000000";
  c.nodes.resize(1 + r.places.size());
  c.nodes[0].name = "head";
  c.nodes[0].roles = {node_role::gateway, node_role::scheduler};
  for (uint32_t i = 0; i < r.places.size(); ++i) {
    c.nodes[i + 1].name = place_name(i);
    c.nodes[i + 1].roles = {node_role::worker};
    auto link = r.places[i];
    link.nodes = {place_name(i)};
    c.links.push_back(std::move(link));
  }
  c.limits.pool_bytes = 1 << 20;
  c.limits.request_timeout = 500ms;
  c.limits.heartbeat = 1s;
  c.limits.node_timeout = 5s;
  c.limits.drain_timeout = 5s;
  c.scaling.chunk_bytes = static_cast<uint64_t>(r.chunk_bytes);
  c.scaling.window = r.window;
  return c;
}

llm_spec model_of(const std::string& name) {
  llm_spec m;
  m.name = name;
  m.device = device_kind::emulated;
  m.profile.step = {.fixed = 10ms, .prefill_token = 10us, .decode = 1ms, .decode_context = 10ns};
  m.profile.kv_token_bytes = 1;
  m.max_positions = 16;
  m.kv_bytes = 64;
  m.scales = true;
  return m;
}

/// One model with a place on each node, or a model for each node, which only that node serves.
void add_models(const scaling_run& r, cluster_spec& c, sim::world_options& o) {
  const auto places = static_cast<uint32_t>(r.places.size());
  std::vector<uint64_t> layer_bytes(r.layers, static_cast<uint64_t>(std::llround(r.bytes / r.layers)));
  if (r.origins.empty()) {
    auto m = model_of("llm");
    m.instances = m.min_instances = r.from;
    m.max_instances = places;
    c.llms = {m};
    o.images.models = {{layer_bytes, sim::image_origin::unspecified}};
    if (r.chain.empty()) o.scaling.scales = {{m.name, r.to, false}};
  } else {
    c.scaling.copies = 0;
  }
  for (uint32_t i = 0; i < places; ++i) {
    c.engines.push_back({llm_id{r.origins.empty() ? 0 : i}, node_id{i + 1}});
    if (r.origins.empty()) continue;
    auto m = model_of(fmt::format("llm{}", i));
    m.instances = i < r.from ? 1 : 0;
    m.max_instances = 1;
    c.llms.push_back(m);
    o.images.models.push_back({layer_bytes, i < r.from ? sim::image_origin::unspecified : r.origins[i]});
    if (i >= r.from && i < r.to) o.scaling.scales.push_back({m.name, 1, false});
  }
}

}  // namespace

std::string place_name(uint32_t place) { return fmt::format("place{}", place); }

sim::scaling_times run_scaling(const scaling_run& r, uint64_t seed) {
  auto c = nodes_of(r);
  sim::world_options o{.seed = seed, .caf_host_per_actor = false, .in_order = true};
  o.images.scale = std::max<uint64_t>(1, c.scaling.chunk_bytes / stored_chunk);
  o.scaling.at = before_orders;
  for (const auto place : r.chain) o.scaling.chain.push_back(node_id{place + 1});
  add_models(r, c, o);
  workload_spec w;
  w.length = before_orders + r.length;
  auto result = sim::world(std::move(c), std::move(w), o).run();
  if (!result.scaling.refusal.empty()) throw std::runtime_error(result.scaling.refusal);
  for (const auto& v : result.violations)
    throw std::runtime_error(fmt::format("the simulation violated '{}': {}", v.check, v.what));
  return std::move(result.scaling);
}

}  // namespace troupe::lab
