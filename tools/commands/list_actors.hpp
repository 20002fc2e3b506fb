// `troupe actors`: the live actors of a cluster, and the kinds that there are.
#pragma once
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct list_actors_options {
  std::string node;           ///< only this node; empty: all
  duration interval = 500ms;  ///< for the count of messages a second
  bool watch = false;         ///< repeat until interrupted
  bool json = false;
};

/// Prints a table, or one JSON document (with `watch`: one a line). Returns 0 if every node answered, 1 if
/// not, 2 for an unknown node.
int list_actors(const cluster_spec& cluster, const list_actors_options& options);

/// Prints the kinds of actors that there are as a Markdown table, or as one JSON document. Returns 0.
int print_actor_kinds(bool json);

}  // namespace troupe
