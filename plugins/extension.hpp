// Actors of plug-ins: shells like Troupe's own, one for each [[actor]] of the cluster file.
#pragma once
#include <functional>
#include <memory>

#include "actors/shell.hpp"
#include "messages/cluster.hpp"
#include "policies/registry.hpp"

namespace troupe {

/// What an actor of a plug-in is made with. Cluster and outbox outlive it.
struct extension_parts {
  address self;  ///< role `extension`; hand it to `shell` with the outbox
  outbox& out;
  const cluster_spec& cluster;
  const plugin_settings& settings;
  uint32_t first_type;  ///< of the plug-in's own messages (messages/plugin.hpp)
};
using extension_factory = std::function<std::unique_ptr<shell>(const extension_parts&)>;

/// The kinds of actors that plug-ins brought, by "PLUG-IN/KIND".
registry<extension_factory>& extensions();

/// The actor at this position of the cluster file; `self` is its address.
std::unique_ptr<shell> make_extension(const cluster_spec& cluster, const address& self, outbox& out);

}  // namespace troupe
