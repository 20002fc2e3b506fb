// `troupe actors`: the live actors of a cluster.
#pragma once
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct list_actors_options {
  std::string node;           ///< only this one; empty: all
  duration interval = 500ms;  ///< over which messages a second are counted
  bool watch = false;         ///< again and again until interrupted
  bool json = false;
};

/// Prints a table, or one JSON document (with `watch`: one a line). Returns 0 if every node answered, 1 if
/// not, 2 if there is no such node.
int list_actors(const cluster_spec& cluster, const list_actors_options& options);

}  // namespace troupe
