// The two nodes of `troupe bench fabric`, each in a process of its own (forked_process.hpp).
#pragma once
#include <memory>
#include <string>

#include "transport/fabric/tls_fabric.hpp"
#include "transport/fabric/ucx_fabric.hpp"

namespace troupe {

inline constexpr node_id near_node{0}, far_node{1};
inline constexpr incarnation_id incarnation_of_both{1};

inline std::unique_ptr<fabric> ucx_between_two(node_id node, const clock& clock) {
  ucx_options o;
  o.self = node;
  o.incarnation = incarnation_of_both;
  return make_ucx_fabric(o, clock);
}

/// `certificates`: a folder with those of "node", valid for 127.0.0.1.
inline std::unique_ptr<fabric> tls_between_two(node_id node, const std::string& certificates,
                                               const clock& clock) {
  tls_fabric_options o;
  o.self = node;
  o.incarnation = incarnation_of_both;
  o.files = tls_files_in(certificates, "node");
  o.host = o.listen = "127.0.0.1";
  return make_tls_fabric(o, clock);
}

}  // namespace troupe
