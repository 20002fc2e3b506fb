#include "tools/commands/move_requests.hpp"

#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "messages/commands/commands.hpp"
#include "messages/common/json_text.hpp"
#include "messages/common/time.hpp"
#include "messages/wire/json.hpp"
#include "tools/client/console_client.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

int tell_outcome(bool good, const std::string& detail, bool json) {
  if (json)
    fmt::print("{}\n", json_text(nlohmann::json{{"ok", good}, {"detail", detail}}));
  else
    fmt::print(good ? stdout : stderr, "troupe: {}\n", detail);
  return good ? exit_done : exit_failed;
}

/// The routers of a model on all nodes that have one: gateways use the first that is up.
class routers {
 public:
  routers(const cluster_spec& cluster, llm_id model) : cluster_(cluster), model_(model), consoles_(cluster) {}

  /// The first answer, or why there is none.
  template <class Command>
  console_reply order(const Command& c) {
    console_reply said{{0, false, "no node of the cluster answers; start it with troupe up"},
                       delivery_state::absent};
    for (const auto node : leader_candidates(cluster_)) {
      const auto name = fmt::format("llm_router/{}@{}", model_.value, node_name(cluster_, node));
      said = consoles_.order(node, "ask", name, std::string(Command::type_name), to_json(c));
      if (said.ok || !said.not_delivered()) break;
    }
    return said;
  }

 private:
  const cluster_spec& cluster_;
  const llm_id model_;
  console_client consoles_;
};

std::optional<std::string> problem_with(const cluster_spec& cluster, uint32_t engine) {
  if (engine < cluster.engines.size()) return {};
  return cluster.engines.empty() ? "the cluster file has no [[llm]], and so no engines"
                                 : fmt::format("the cluster has no engine {}; the last one is {}", engine,
                                               cluster.engines.size() - 1);
}

std::string named(const cluster_spec& cluster, uint32_t engine) {
  return fmt::format("engine {} on node '{}'", engine,
                     cluster.nodes[cluster.engines[engine].node.value].name);
}

}  // namespace

int migrate_request(const cluster_spec& cluster, const std::string& request, const engine_change& to) {
  migrate order{0, to.engine};
  const auto* end = request.data() + request.size();
  auto problem = problem_with(cluster, to.engine);
  if (const auto [p, bad] = std::from_chars(request.data(), end, order.request);
      bad != std::errc{} || p != end)
    problem = fmt::format(
        "'{}' is not a request id; `troupe ask FILE llm_router/0 list_generations` lists the ids", request);
  if (problem) {
    report("troupe: {}", *problem);
    return exit_bad_input;
  }
  const auto said = routers(cluster, cluster.engines[to.engine].model).order(order);
  return tell_outcome(
      said.ok,
      said.ok ? fmt::format("request {} continues on {}", request, named(cluster, to.engine)) : said.body,
      to.json);
}

int drain_engine_of(const cluster_spec& cluster, const engine_change& what) {
  if (const auto problem = problem_with(cluster, what.engine)) {
    report("troupe: {}", *problem);
    return exit_bad_input;
  }
  routers all(cluster, cluster.engines[what.engine].model);
  const auto said = all.order(drain_engine{what.engine, what.open});
  const auto name = named(cluster, what.engine);
  if (!said.ok) return tell_outcome(false, said.body, what.json);
  if (what.open) return tell_outcome(true, name + " takes sequences again", what.json);
  if (what.wait_s <= 0) return tell_outcome(true, name + " moves its sequences to other engines", what.json);
  const machine_clock time;
  const auto give_up = time.now() + from_ms(what.wait_s * 1e3);
  for (;;) {
    const auto now = all.order(get_state{});
    if (now.ok)
      for (const auto& e : from_json<llm_router_state>(nlohmann::json::parse(now.body)).engines)
        if (e.engine == what.engine && e.sequences == 0)
          return tell_outcome(true, name + " is empty", what.json);
    if (time.now() > give_up)
      return tell_outcome(false,
                          fmt::format("{} still has sequences after {} s; no other engine has room for them",
                                      name, what.wait_s),
                          what.json);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace troupe
