#include "actors/scaling/chain_link.hpp"

#include <algorithm>
#include <memory>

#include "actors/kinds/actor_kind.hpp"

namespace troupe {
namespace {

bool may_run_chain_link(const cluster_spec& cluster, node_id node, uint32_t index) {
  if (index == files_link(cluster)) return keeps_model_files(cluster, node);
  const auto llm = index;
  return llm < cluster.llms.size() && cluster.llms[llm].scales &&
         std::ranges::any_of(cluster.engines,
                             [&](const engine_spec& e) { return e.node == node && e.model == llm_id{llm}; });
}

/// They share a thread of their own, because they hash what they pull, and the measurement of their sources.
void spawn_chain_links(const spawn_context& node) {
  auto* images = node.env.devices.images;
  const auto flows = std::make_shared<source_flows>();
  for (uint32_t i = 0; images != nullptr && i <= files_link(node.cluster); ++i)
    if (may_run_chain_link(node.cluster, node.self, i))
      node.hosts.shared(role::chain_link)
          .direct(false)
          .low_priority()
          .add<chain_link>(node.name(role::chain_link, i), node.cluster.scaling.window, node.cluster,
                           node.memory, *images, flows);
}

}  // namespace

constinit const actor_kind chain_link_actor_kind{
    .kind = role::chain_link,
    .one_per = "`[[llm]]` that scales on each worker with a place of it, and for all files of tensor models",
    .does = "pulls weights chunk by chunk from the node before it in a multicast chain",
    .may_run_on = may_run_chain_link,
    .spawn = spawn_chain_links,
};

}  // namespace troupe
