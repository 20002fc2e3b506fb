#include "tools/commands/why.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "actors/operator/actor_name.hpp"
#include "messages/common/json_text.hpp"
#include "tools/client/console_client.hpp"
#include "tools/client/find_leader.hpp"
#include "tools/common/decision_story.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

/// 0 is not a valid id.
request_id id_of(const std::string& text) {
  request_id out;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out.value);
  return wrong == std::errc{} && end == text.data() + text.size() ? out : request_id{};
}

struct living {
  std::vector<address> queues;
  std::vector<std::string> silent;  ///< nodes that do not answer
};

/// The leader first: deposed leaders have older records.
std::vector<node_id> schedulers_of(console_client& consoles, const cluster_spec& cluster) {
  auto nodes = leader_candidates(cluster);
  const auto leader = find_leader(cluster, [&](node_id n) { return consoles.query(n, "status"); });
  std::ranges::stable_partition(nodes, [&](node_id n) { return n == leader; });
  return nodes;
}

/// The model queues of the cluster, including those of models that were deployed later.
living queues_of(console_client& consoles, const cluster_spec& cluster, const std::string& model) {
  living out;
  for (const auto n : schedulers_of(consoles, cluster)) {
    const auto answer = consoles.query(n, "actors");
    if (answer.contains("error")) out.silent.push_back(node_name(cluster, n));
    for (const auto& a : answer.value("actors", nlohmann::json::array()))
      if (a["kind"] == "model_queue" && (model.empty() || a.value("model", "") == model))
        out.queues.push_back({n, {}, role::model_queue, a["index"].get<uint32_t>()});
  }
  return out;
}

int fail(int code, const std::string& what) {
  report("troupe: {}", what);
  return code;
}

}  // namespace

int why(const cluster_spec& cluster, const why_options& o) {
  const auto id = id_of(o.request);
  if (id == request_id{})
    return fail(exit_bad_input, fmt::format("'{}' is not a request id: give the number in the header "
                                            "Troupe-Request-Id of the response, or an id of `troupe trace`",
                                            o.request));
  console_client consoles(cluster);
  const auto found = queues_of(consoles, cluster, o.model);
  const auto silent =
      found.silent.empty() ? "" : fmt::format(" (no answer from {})", fmt::join(found.silent, ", "));
  if (found.queues.empty())
    return fail(exit_failed, o.model.empty()
                                 ? "no model queue answers" + silent
                                 : fmt::format("there is no queue of a model '{}'{}", o.model, silent));
  const asker ask = [&](const address& to, const std::string& type,
                        const nlohmann::json& fields) -> command_reply {
    if (to.node.value >= cluster.nodes.size()) return command_reply{};  // an id can name any node
    return consoles.order(to.node, "ask", actor_name(cluster, to), type, fields);
  };
  size_t remembering = 0;
  const auto story = find_story(id, found.queues, ask, remembering);
  if (!story && remembering == 0)
    return fail(exit_failed,
                "no decisions are recorded: policy.decision_log is 0; `troupe tell FILE model_queue/MODEL "
                "set_decision_log '{\"requests\": 4096}'` enables it");
  if (!story && !o.model.empty())
    return fail(exit_failed,
                fmt::format("the queue of '{}' has no record of request {}{}: the record was overwritten, or "
                            "the request is of another model; without --model, all queues are asked",
                            o.model, id.value, silent));
  if (!story)
    return fail(exit_failed,
                fmt::format("no queue has a record of request {}{}: the record was overwritten "
                            "(policy.decision_log sets how many are kept), or the request never arrived",
                            id.value, silent));
  const auto document = story_document(*story, cluster);
  fmt::print("{}", o.json ? json_text(document, 2) + "\n" : story_text(document));
  return exit_done;
}

}  // namespace troupe
