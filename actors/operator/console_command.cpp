#include "actors/operator/console_command.hpp"

#include "actors/operator/command_check.hpp"
#include "messages/common/json_text.hpp"
#include "messages/common/parse_json.hpp"

namespace troupe {

std::variant<console_command, std::string> read_order(const command& c, const cluster_spec& cluster,
                                                      const name_lookup& lookup) {
  const auto j = parse_json(c.argument);
  const auto text = [&](const char* key) {
    return j.is_object() && j.contains(key) && j[key].is_string() ? j[key].get<std::string>() : std::string();
  };
  console_command out{{}, text("actor"), {0, text("type"), {}}};
  if (out.actor.empty() || out.what.verb.empty())
    return c.verb + R"(: must be {"actor": NAME, "type": COMMAND, "fields": {...}})";
  if (j.contains("fields")) out.what.argument = json_text(j["fields"]);
  const auto to = parse_actor_name(out.actor, cluster, lookup);
  if (const auto* problem = std::get_if<std::string>(&to)) return *problem;
  out.to = std::get<address>(to);
  if (auto problem = problem_with(cluster, out.to, out.what); !problem.empty()) return problem;
  return out;
}

}  // namespace troupe
