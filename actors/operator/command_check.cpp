#include "actors/operator/command_check.hpp"

#include <nlohmann/json.hpp>

#include "actors/extension/extension.hpp"
#include "messages/commands/command_schema.hpp"

namespace troupe {
namespace {

const extension_protocol& protocol_of(const cluster_spec& cluster, uint32_t extension) {
  static const extension_protocol none;
  const auto* kind = kind_of_extension(cluster, extension);
  return kind == nullptr ? none : kind->takes;
}

}  // namespace

std::string problem_with(const cluster_spec& cluster, const address& to, const command& c) {
  if (to.kind != role::extension) return problem_with(to.kind, c);
  return protocol_of(cluster, to.index).problem_with(c);
}

nlohmann::ordered_json command_schema(const cluster_spec& cluster, const address& to) {
  if (to.kind != role::extension) return command_schema(to.kind);
  return nlohmann::ordered_json::parse(protocol_of(cluster, to.index).schema);
}

}  // namespace troupe
