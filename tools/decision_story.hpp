// All that a cluster remembers of its decisions about one request, and its telling in plain words.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/cluster.hpp"
#include "messages/commands.hpp"
#include "messages/json.hpp"
#include "messages/membership.hpp"

namespace troupe {

/// How an actor is asked: by its address, a command's type and fields.
using asker = std::function<command_reply(const address&, const std::string& type, const nlohmann::json&)>;

/// What the first of `queues` that knows the request tells, with what its arbiter adds. `remembering`: how
/// many of the queues that answered have a decision log.
inline std::optional<decision_story> find_story(request_id id, std::span<const address> queues,
                                                const asker& ask, size_t& remembering) {
  remembering = 0;
  for (const auto& queue : queues) {
    const auto told = ask(queue, explain_request::type_name, to_json(explain_request{id}));
    if (!told.ok) continue;
    decision_story out{from_json<request_story>(nlohmann::json::parse(told.body)), {}};
    remembering += out.request.decision_log > 0;
    if (!out.request.known) continue;
    for (const auto& b : out.request.batches) {
      out.grants.emplace_back();
      if (!b.known || b.alone) continue;
      const auto of = ask(out.request.arbiter, explain_grant::type_name,
                          to_json(explain_grant{out.request.model, b.sequence}));
      if (of.ok) out.grants.back() = from_json<grant_story>(nlohmann::json::parse(of.body));
    }
    return out;
  }
  return {};
}

/// {request, model, state, rows, deadline_ms, batching, shedding, events: [{at_ms, event, text, ...}]}; times
/// are from the request's arrival. Events: arrived, queued, candidate, granted, ordered, started, done,
/// refused, preempted, lost, dropped.
nlohmann::ordered_json story_document(const decision_story& story, const cluster_spec& cluster);

/// The same for people. Of many candidates in a row only the first and the last are told.
std::string story_text(const nlohmann::ordered_json& document);

}  // namespace troupe
