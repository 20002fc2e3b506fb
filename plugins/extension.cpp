#include "plugins/extension.hpp"

#include <stdexcept>

namespace troupe {

registry<extension_factory>& extensions() {
  static registry<extension_factory> known{};
  return known;
}

std::unique_ptr<shell> make_extension(const cluster_spec& cluster, const address& self, outbox& out) {
  const auto& actor = cluster.actors.at(self.index);
  const auto& from = cluster.plugins.at(actor.plugin);
  const auto* make = extensions().find(from.name + "/" + actor.kind);
  auto made = make == nullptr ? nullptr
                              : (*make)({self, out, cluster, from.settings, first_plugin_type(actor.plugin)});
  if (!made) throw std::runtime_error("plug-in '" + from.name + "' made no actor '" + actor.kind + "'");
  return made;
}

}  // namespace troupe
