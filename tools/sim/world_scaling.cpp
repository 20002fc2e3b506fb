#include <algorithm>

#include "messages/common/json_text.hpp"
#include "messages/wire/json.hpp"
#include "tools/sim/world_state.hpp"

namespace troupe::sim {
namespace {

/// Above that of every leader, whose orders the shards ignore from then on.
constexpr term_id term_of_orders{1'000'000'000};

}  // namespace

void world::state::scale() {
  auto& r = result.scaling;
  r = {};
  r.weights.resize(nodes.size());
  r.ready.resize(cluster.engines.size());
  r.predicted.resize(cluster.engines.size());
  scaled_at = time.now();
  before_scaling = moved_images();
  for (const auto& order : options.scaling.scales) {
    const auto reply =
        ask({scheduler_of(cluster), {}, role::parameter_pool, 0}, "scale_model", json_text(to_json(order)));
    if (!reply.ok) {
      r.refusal = reply.body;
      return;
    }
    const auto plan = from_json<scaling_plan>(nlohmann::json::parse(reply.body));
    for (const auto& c : plan.chains) r.chains.push_back(c.nodes);
    for (const auto& start : plan.starts)
      r.predicted[start.engine] =
          from_ms(start.predicted_s * 1000 * static_cast<double>(options.images.scale));
  }
  const auto& chain = options.scaling.chain;
  for (size_t i = 1; i < chain.size(); ++i)
    runtime_of(chain[i])->post().send({chain[i], {}, role::parameter_shard, 0},
                                      place_copy{term_of_orders, weights_id{0}, chain[i - 1]});
  settle();
}

void world::state::images_complete(node_id at) {
  auto& weights = result.scaling.weights;
  if (at.value < weights.size() && !weights[at.value]) weights[at.value] = time.now() - scaled_at;
}

void world::state::engine_reported(const engine_status& s) {
  if (!s.ready || !known_ready.insert(s.engine).second) return;
  auto& ready = result.scaling.ready;
  if (s.engine.value < ready.size()) ready[s.engine.value] = time.now() - scaled_at;
}

/// Since the world began. Nodes that have died are not counted.
world::state::image_traffic world::state::moved_images() const {
  const auto& pulled = network.pulled_images();
  image_traffic out{pulled.network, pulled.scale_up, 0, 0, 0};
  for (const auto& n : nodes) {
    if (!n.running) continue;
    const auto& read = n.running->images().read();
    out.host += read.host, out.ssd += read.ssd, out.unspecified += read.unspecified;
  }
  return out;
}

void world::state::end_scaling() {
  const auto now = moved_images();
  const auto& before = before_scaling;
  auto& r = result.scaling;
  r.network = now.network - before.network;
  r.scale_up = now.scale_up - before.scale_up;
  r.host = now.host - before.host;
  r.ssd = now.ssd - before.ssd;
  r.unspecified = now.unspecified - before.unspecified;
}

}  // namespace troupe::sim
