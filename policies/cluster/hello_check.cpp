#include "policies/cluster/hello_check.hpp"

#include <string>

#include "messages/common/version.hpp"

namespace troupe {

std::optional<rejection> check_hello(const cluster_spec& cluster, node_id self, const hello& h) {
  const auto& name = node_name(cluster, self);
  if (h.version != version)
    return rejection{self,
                     h.incarnation,
                     {},
                     rejection_reason::other_version,
                     "node '" + name + "' runs version " + std::string(version) + ", this one " + h.version};
  if (h.cluster_hash != cluster.hash)
    return rejection{self,
                     h.incarnation,
                     {},
                     rejection_reason::other_file,
                     "node '" + name + "' was started with another cluster file (hash " + cluster.hash +
                         ", this one " + h.cluster_hash + ")"};
  return {};
}

}  // namespace troupe
