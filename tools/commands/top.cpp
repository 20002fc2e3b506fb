#include "tools/commands/top.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "actors/operator/actor_name.hpp"
#include "messages/common/json_text.hpp"
#include "messages/wire/json.hpp"
#include "tools/client/console_client.hpp"
#include "tools/commands/screen.hpp"
#include "tools/commands/top_page.hpp"
#include "tools/common/exit_code.hpp"

namespace troupe {
namespace {

/// The actor's answer to `type`, asked on its own node; nothing if there is none.
template <class Reply>
std::optional<Reply> answer_of(console_client& consoles, const cluster_spec& cluster, const address& actor,
                               const char* type) {
  const auto r =
      consoles.order(actor.node, "ask", actor_name(cluster, actor), type, nlohmann::json::object());
  if (!r.ok) return {};
  return from_json<Reply>(nlohmann::json::parse(r.body));
}

top_sample take_sample(console_client& consoles, const cluster_spec& cluster, const clock& time) {
  top_sample s;
  std::vector<std::string> names;
  for (const auto& n : cluster.nodes) names.push_back(n.name);
  for (uint32_t i = 0; i < cluster.nodes.size(); ++i) {
    const node_id id{i};
    const auto status = consoles.query(id, "status");
    s.add_status(status);
    if (status.contains("error")) continue;
    if (cluster.nodes[i].has(node_role::gateway)) {
      const address gateway{id, {}, role::gateway, 0};
      s.nodes.back().ledger = answer_of<ledger_report>(consoles, cluster, gateway, "get_ledger");
      s.nodes.back().latencies = answer_of<latency_report>(consoles, cluster, gateway, "get_latencies");
    }
    if (cluster.nodes[i].schedules()) {
      for (uint32_t d = 0; d < domain_count(cluster); ++d) {
        const address arbiter{id, {}, role::rank_arbiter, d};
        if (const auto slots = answer_of<arbiter_state>(consoles, cluster, arbiter, "get_state"))
          s.add(*slots, names);
      }
    }
  }
  s.at = time.now();
  return s;
}

}  // namespace

int top(const cluster_spec& cluster, const top_options& options) {
  const machine_clock time;
  console_client consoles(cluster);
  const bool once = options.once || (!options.json && isatty(STDOUT_FILENO) == 0);
  screen terminal(!once && !options.json);
  auto before = take_sample(consoles, cluster, time);
  for (;;) {
    if (!terminal.wait(options.interval)) return exit_done;
    auto now = take_sample(consoles, cluster, time);
    const auto doc = top_document(before, now);
    terminal.show(options.json ? json_text(doc, once ? 2 : -1) + "\n" : top_table(doc));
    if (once) {
      for (const auto& n : now.nodes)
        if (n.error.empty()) return exit_done;
      return exit_failed;
    }
    before = std::move(now);
  }
}

}  // namespace troupe
