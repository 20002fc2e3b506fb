// The recorded decisions of a cluster about one request, and their description for people.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/cluster/membership.hpp"
#include "messages/commands/commands.hpp"
#include "messages/wire/json.hpp"

namespace troupe {

/// Sends a command to an actor: its address, the command's type and fields.
using asker = std::function<command_reply(const address&, const std::string& type, const nlohmann::json&)>;

/// The record of the first of `queues` that remembers the request, with additions from its arbiter and the
/// request's gateway. `remembering`: the number of answering actors with a decision log.
inline std::optional<decision_story> find_story(request_id id, std::span<const address> queues,
                                                const asker& ask, size_t& remembering) {
  remembering = 0;
  decision_story out;
  const auto explain = [&]<class Story>(const address& of, Story& into) {
    const auto reply = ask(of, explain_request::type_name, to_json(explain_request{id}));
    if (!reply.ok) return false;
    into = from_json<Story>(nlohmann::json::parse(reply.body));
    remembering += into.decision_log > 0;
    return into.known;
  };
  for (const auto& queue : queues)
    if (explain(queue, out.request)) break;
  for (const auto& b : out.request.batches) {
    out.grants.emplace_back();
    if (!b.known || b.alone) continue;
    const auto of = ask(out.request.arbiter, explain_grant::type_name,
                        to_json(explain_grant{out.request.model, b.sequence}));
    if (of.ok) out.grants.back() = from_json<grant_story>(nlohmann::json::parse(of.body));
  }
  const auto& g = out.gateway;
  if (!explain(gateway_of(id), out.gateway)) return out.request.known ? std::optional(out) : std::nullopt;
  if (!out.request.known) {
    out.request = {};
    out.request.id = g.id;
    out.request.model = g.model;
    out.request.model_name = g.model_name;
    out.request.rows = g.rows;
    out.request.arrival = g.arrival;
    out.request.deadline = g.deadline;
  }
  return out;
}

/// {request, model, state, rows, deadline_ms, batching?, shedding?, candidates_forgotten, reason?, events:
/// [{at_ms, event, text, ...}]}; times are relative to the request's arrival. `reason` is present if it was
/// dropped or failed; `batching` and `shedding` are absent if no queue remembers it. Events: arrived,
/// turned_away, queued, candidate, granted, ordered, started, done, refused, preempted, lost, dropped,
/// given_up.
nlohmann::ordered_json story_document(const decision_story& story, const cluster_spec& cluster);

/// The same for people. Of consecutive candidates only the first and the last are shown.
std::string story_text(const nlohmann::ordered_json& document);

}  // namespace troupe
