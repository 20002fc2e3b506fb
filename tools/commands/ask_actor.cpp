#include "tools/commands/ask_actor.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>
#include <variant>

#include "actors/kinds/registry.hpp"
#include "actors/operator/actor_name.hpp"
#include "actors/operator/command_check.hpp"
#include "messages/cluster/find_node.hpp"
#include "messages/commands/command_schema.hpp"
#include "messages/common/near.hpp"
#include "messages/common/parse_json.hpp"
#include "tools/client/console_client.hpp"
#include "tools/client/find_leader.hpp"
#include "tools/commands/wait_condition.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

using nlohmann::ordered_json;

int bad_usage(const std::string& why) {
  report("troupe: {}", why);
  return exit_bad_input;
}

/// A field for people: "slo: integer, ns".
std::string in_words(const ordered_json& field) {
  std::string out = field["type"];
  if (field.contains("of")) out += " of " + in_words(field["of"]);
  if (field.contains("unit")) out += ", " + field["unit"].get<std::string>();
  if (field.contains("values")) {
    out += ":";
    for (const auto& v : field["values"]) out += " " + v.get<std::string>();
  }
  return out;
}

void print_fields(const ordered_json& fields, const std::string& indent) {
  for (const auto& f : fields) {
    fmt::print("{}{}: {}\n", indent, f["name"].get<std::string>(), in_words(f));
    const auto& inner = f.contains("of") ? f["of"] : f;
    if (inner.contains("fields")) print_fields(inner["fields"], indent + "  ");
  }
}

struct time_to_wait {
  std::optional<wait_condition> until;
  duration max_wait{};
};

/// Throws std::invalid_argument.
time_to_wait read_wait(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  time_to_wait out{wait_condition(words[0]), 60s};
  if (words.size() == 1) return out;
  char* end = nullptr;
  const double seconds = std::strtod(words[1].c_str(), &end);
  if (*end != '\0' || !(seconds >= 0 && seconds <= 86'400))  // false for NaN
    throw std::invalid_argument("--wait takes CONDITION [SECONDS], with at most 86400 seconds, not '" +
                                words[1] + "'");
  out.max_wait = from_ms(1000 * seconds);
  return out;
}

/// A model that was deployed later is not in the file: its node resolves it.
std::variant<address, std::string> actor_called(const std::string& name, const cluster_spec& cluster,
                                                console_client& consoles) {
  const auto model = [&](std::string_view called) -> std::optional<model_id> {
    for (uint32_t i = 0; i < cluster.models.size(); ++i)
      if (cluster.models[i].name == called) return model_id{i};
    return model_id{};
  };
  const auto leader = [&] {
    return find_leader(cluster, [&](node_id n) { return consoles.query(n, "status"); });
  };
  return parse_actor_name(name, cluster, {model, may_run_on, leader});
}

/// The name with its node: the console that is asked does not look for the leader.
std::string with_node(const std::string& name, const cluster_spec& cluster, const address& to) {
  return name.find('@') == std::string::npos ? name + "@" + node_name(cluster, to.node) : name;
}

/// `all`: by name or kind of actor.
int print_commands(const ordered_json& all, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", all.dump(2));
    return exit_done;
  }
  for (const auto& [name, commands] : all.items()) {
    fmt::print("{}\n", name);
    for (const auto& [type, c] : commands.items()) {
      fmt::print("  {}: {}\n", type, c["about"].get<std::string>());
      print_fields(c["fields"], "    ");
      if (c["reply"].empty()) continue;
      fmt::print("    answers\n");
      print_fields(c["reply"], "      ");
    }
  }
  return exit_done;
}

}  // namespace

int ask_actor(const cluster_spec& cluster, const ask_options& o) {
  auto type = o.type;
  auto fields = o.fields.empty() ? nlohmann::json::object() : parse_json(o.fields);
  if (type.starts_with('{') && o.fields.empty()) {
    const auto all = parse_json(type);
    if (!all.is_object() || all.size() != 1)
      return bad_usage(R"(a command is TYPE '{fields}' or '{"TYPE": {fields}}')");
    type = all.begin().key();
    fields = all.begin().value();
  }
  if (fields.is_discarded())
    return bad_usage("the fields are not JSON, or are nested too deeply: " + o.fields.substr(0, 200));

  console_client consoles(cluster);
  const auto to = actor_called(o.actor, cluster, consoles);
  if (const auto* problem = std::get_if<std::string>(&to)) return bad_usage(*problem);
  const command asked{0, type, fields.dump()};
  if (const auto problem = problem_with(cluster, std::get<address>(to), asked); !problem.empty())
    return bad_usage(problem);

  node_id via;
  if (o.via.empty()) {
    via = consoles.first_up();
    if (via.value == cluster.nodes.size()) {
      report("troupe: no node of the cluster answers; start it with troupe up");
      return exit_failed;
    }
  } else {
    const auto found = find_node(cluster, o.via);
    if (!found) return bad_usage(no_such_node(cluster, o.via));
    via = *found;
  }
  auto actor = with_node(o.actor, cluster, std::get<address>(to));
  try {
    const auto [until, max_wait] = read_wait(o.until);
    const machine_clock time;
    const auto give_up = time.now() + max_wait;
    for (;;) {
      const auto reply = consoles.order(via, o.wait ? "ask" : "tell", actor, type, fields);
      const bool true_now = reply.ok && (!until || until->holds(nlohmann::json::parse(reply.body)));
      // An actor may not exist yet, a silent node may still come up, and the leader may change.
      if (!true_now && until && time.now() < give_up) {
        std::this_thread::sleep_for(std::min<duration>(100ms, give_up - time.now()));
        if (const auto now_at = actor_called(o.actor, cluster, consoles);
            const auto* there = std::get_if<address>(&now_at))
          actor = with_node(o.actor, cluster, *there);
        continue;
      }
      if (!reply.ok) {
        report("troupe: {}", reply.body);
        return exit_failed;
      }
      if (o.wait) fmt::print("{}\n", o.json ? reply.body : ordered_json::parse(reply.body).dump(2));
      return true_now ? exit_done : exit_failed;
    }
  } catch (const std::invalid_argument& e) {
    return bad_usage(e.what());
  }
}

int print_schema(const std::string& kind, bool as_json) {
  auto all = ordered_json::object();
  std::vector<std::string_view> kinds;
  for (size_t i = 0; i < role_count; ++i) {
    const auto r = static_cast<role>(i);
    kinds.push_back(to_string(r));
    if (kind.empty() || kind == kinds.back()) all[std::string(kinds.back())] = command_schema(r);
  }
  if (all.empty()) return bad_usage("unknown kind of actor '" + kind + "'" + hint(kind, kinds));
  return print_commands(all, as_json);
}

int print_schema(const cluster_spec& cluster, const std::string& actor, bool as_json) {
  console_client consoles(cluster);
  const auto to = actor_called(actor, cluster, consoles);
  if (const auto* problem = std::get_if<std::string>(&to)) return bad_usage(*problem);
  auto all = ordered_json::object();
  all[actor] = command_schema(cluster, std::get<address>(to));
  return print_commands(all, as_json);
}

}  // namespace troupe
