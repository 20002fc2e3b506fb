#include "actors/scaling/parameter_shard.hpp"

#include <algorithm>

#include "actors/kinds/actor_kind.hpp"

namespace troupe {
namespace {

bool may_run_parameter_shard(const cluster_spec& cluster, node_id node, uint32_t) {
  return has_scaling_place(cluster, node) || keeps_model_files(cluster, node);
}

void spawn_parameter_shard(const spawn_context& node) {
  auto* images = node.env.devices.images;
  if (images == nullptr || !may_run_parameter_shard(node.cluster, node.self, 0)) return;
  parameter_shard::options o;
  o.pools = leader_candidates(node.cluster);
  o.files_link = files_link(node.cluster);
  if (keeps_model_files(node.cluster, node.self))
    o.files_of = [&cluster = node.cluster](model_id m) { return files_of(cluster, m); };
  o.domain = node.me().domain;
  o.patience = std::max<duration>(5s, node.cluster.limits.join_timeout());
  o.notify = [&post = node.post, to = address{node.self, {}, role::parameter_shard, 0}] {
    post.send(to, images_changed{});
  };
  node.hosts.shared(role::parameter_shard)
      .direct(false)  // it takes memory for whole models
      .add<parameter_shard>(node.name(role::parameter_shard), o, *images);
}

}  // namespace

constinit const actor_kind parameter_shard_actor_kind{
    .kind = role::parameter_shard,
    .one_per = "worker with places of models that scale, or with files of tensor models in memory",
    .does = "keeps images of weights in the node's memory, and announces their chunks to chain links",
    .may_run_on = may_run_parameter_shard,
    .spawn = spawn_parameter_shard,
};

}  // namespace troupe
