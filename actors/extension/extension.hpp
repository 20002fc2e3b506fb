// Actors of plug-ins: actors like Troupe's own, one for each [[actor]] of the cluster file.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "actors/runtime/actor.hpp"
#include "messages/cluster/cluster.hpp"
#include "policies/common/registry.hpp"

namespace troupe {

/// What an actor of a plug-in is made with. Cluster and outbox outlive it.
struct extension_parts {
  address self;  ///< role `extension`; hand it to `actor` with the outbox
  outbox& out;
  const cluster_spec& cluster;
  const plugin_settings& settings;
  uint32_t first_type;  ///< of the plug-in's own messages (messages/common/plugin.hpp)
};
using extension_factory = std::function<std::unique_ptr<actor>(const extension_parts&)>;

/// What a kind of actors can be asked; protocol.hpp makes it of a list of commands.
struct extension_protocol {
  std::string schema = "{}";  ///< as in messages/commands/protocol_schema.hpp
  std::function<std::string(const command&)> check = nullptr;  ///< what is wrong; null: it takes no commands

  /// Nothing if `c` is one of them.
  std::string problem_with(const command& c) const { return check ? check(c) : "takes no commands"; }
};

struct extension_kind {
  extension_factory make;
  extension_protocol takes;
};
/// The kinds of actors that plug-ins brought, by "PLUG-IN/KIND".
registry<extension_kind>& extensions();

/// That of the actor at this position of the cluster file; null if there is none.
const extension_kind* kind_of_extension(const cluster_spec& cluster, uint32_t index);

/// The actor at this position of the cluster file, behind its guard (extension_guard.hpp); `self` is its
/// address.
std::unique_ptr<actor> make_extension(const cluster_spec& cluster, const address& self, outbox& out);

}  // namespace troupe
