#include "actors/extension/extension.hpp"

#include <stdexcept>

#include "actors/extension/extension_guard.hpp"

namespace troupe {

registry<extension_kind>& extensions() {
  static registry<extension_kind> known{};
  return known;
}

const extension_kind* kind_of_extension(const cluster_spec& cluster, uint32_t index) {
  if (index >= cluster.actors.size()) return nullptr;
  const auto& actor = cluster.actors[index];
  return extensions().find(cluster.plugins.at(actor.plugin).name + "/" + actor.kind);
}

std::unique_ptr<actor> make_extension(const cluster_spec& cluster, const address& self, outbox& out) {
  const auto& actor = cluster.actors.at(self.index);
  const auto& from = cluster.plugins.at(actor.plugin);
  const auto first_type = first_plugin_type(actor.plugin);
  const auto* kind = kind_of_extension(cluster, self.index);
  auto made = kind == nullptr ? nullptr : kind->make({self, out, cluster, from.settings, first_type});
  if (!made) throw std::runtime_error("plug-in '" + from.name + "' created no actor '" + actor.kind + "'");
  return std::make_unique<extension_guard>(std::move(made), out, first_type, kind->takes);
}

}  // namespace troupe
