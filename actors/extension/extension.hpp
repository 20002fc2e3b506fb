// Actors of plug-ins: actors like Troupe's own, one for each [[actor]] of the cluster file.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "actors/runtime/actor.hpp"
#include "messages/cluster/cluster.hpp"
#include "policies/common/registry.hpp"

namespace troupe {

/// The arguments from which a plug-in makes an actor. The references outlive the actor.
struct extension_parts {
  address self;  ///< role `extension`; for the constructor of `actor`, as `out`
  outbox& out;
  const cluster_spec& cluster;
  const plugin_settings& settings;
  uint32_t first_type;  ///< first type number of the plug-in's messages (messages/common/plugin.hpp)
};
using extension_factory = std::function<std::unique_ptr<actor>(const extension_parts&)>;

/// The commands of an actor kind, made from a type list by protocol_of (plugins/protocol.hpp).
struct extension_protocol {
  std::string schema = "{}";  ///< as in messages/commands/protocol_schema.hpp
  std::function<std::string(const command&)> check = nullptr;  ///< returns the problem; null: no commands

  /// Empty if `c` is a valid one of them.
  std::string problem_with(const command& c) const { return check ? check(c) : "takes no commands"; }
};

struct extension_kind {
  extension_factory make;
  extension_protocol takes;
};
/// The actor kinds of the loaded plug-ins, by "PLUG-IN/KIND".
registry<extension_kind>& extensions();

/// The kind of the actor at this position of the cluster file; null if it is unknown.
const extension_kind* kind_of_extension(const cluster_spec& cluster, uint32_t index);

/// Makes the actor at position `self.index` of the cluster file, behind its guard (extension_guard.hpp).
/// Throws std::runtime_error if the plug-in makes none.
std::unique_ptr<actor> make_extension(const cluster_spec& cluster, const address& self, outbox& out);

}  // namespace troupe
