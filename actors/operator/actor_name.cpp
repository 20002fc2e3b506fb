#include "actors/operator/actor_name.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "messages/cluster/find_node.hpp"
#include "messages/common/near.hpp"

namespace troupe {
namespace {

/// The nodes that may have such an actor.
std::vector<node_id> nodes_of(const cluster_spec& cluster, const name_lookup& lookup, role kind,
                              uint32_t index) {
  std::vector<node_id> out;
  for (uint32_t i = 0; i < cluster.nodes.size(); ++i)
    if (lookup.may_run_on(cluster, node_id{i}, kind, index)) out.push_back(node_id{i});
  return out;
}

/// Every leader candidate has these actors, and only the leader's decide.
bool decides_for_leader(role kind) { return kind == role::model_queue || kind == role::rank_arbiter; }

std::string unknown_kind(std::string_view kind) {
  std::vector<std::string_view> known;
  for (size_t i = 0; i < role_count; ++i) known.push_back(to_string(static_cast<role>(i)));
  return "unknown kind of actor '" + std::string(kind) + "'" + hint(kind, known);
}

}  // namespace

std::string actor_name(const cluster_spec& cluster, const address& a) {
  const auto node =
      a.node.value < cluster.nodes.size() ? node_name(cluster, a.node) : std::to_string(a.node.value);
  return std::string(to_string(a.kind)) + "/" + std::to_string(a.index) + "@" + node;
}

std::variant<address, std::string> parse_actor_name(std::string_view text, const cluster_spec& cluster,
                                                    const name_lookup& lookup) {
  const auto at = text.find('@');
  const auto node = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  auto kind = text.substr(0, at);
  std::string_view which;
  if (const auto slash = kind.find('/'); slash != std::string_view::npos) {
    which = kind.substr(slash + 1);
    kind = kind.substr(0, slash);
  }

  address out;
  if (!parse_role(kind, out.kind)) return unknown_kind(kind);
  if (!which.empty()) {
    const auto* end = which.data() + which.size();
    const auto number = std::from_chars(which.data(), end, out.index);
    if (number.ec != std::errc{} || number.ptr != end) {
      const auto model = out.kind == role::model_queue ? lookup.model(which) : std::nullopt;
      if (!model)
        return "'" + std::string(which) + "' is not " +
               (out.kind == role::model_queue ? "a model or a number" : "a number") +
               "; troupe actors lists the actors";
      out.index = model->value;
    }
  }
  if (at != std::string_view::npos) {
    const auto found = find_node(cluster, node);
    if (!found) return no_such_node(cluster, node);
    out.node = *found;
    return out;
  }
  const auto nodes = nodes_of(cluster, lookup, out.kind, out.index);
  if (nodes.empty())
    return "no node of the cluster has an actor '" + std::string(text) + "'; troupe actors lists the actors";
  if (nodes.size() > 1 && lookup.leader && decides_for_leader(out.kind)) {
    out.node = lookup.leader();
    if (std::ranges::count(nodes, out.node) > 0) return out;
  }
  if (nodes.size() > 1) {
    std::string names;
    for (const auto id : nodes) {
      out.node = id;
      names += (names.empty() ? "" : ", ") + actor_name(cluster, out);
    }
    return "several nodes have this actor; name one of " + names;
  }
  out.node = nodes.front();
  return out;
}

}  // namespace troupe
