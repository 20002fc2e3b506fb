#include "actors/tensor/batch_answers.hpp"

#include <algorithm>
#include <string_view>

namespace troupe {

batch_times times_of(const ordered_batch& b, const batch_outcome& outcome) {
  return {b.order.exec_at, b.order.ordered_at, b.received_at,
          b.inputs_at,     outcome.started_at, outcome.finished_at};
}

batch_answers answers_to(ordered_batch& b, const batch_outcome& outcome, const peers_up& up) {
  batch_answers out;
  auto& [done, replies] = out;
  done = {b.order.batch,
          b.order.model,
          b.order.slot,
          refusal::none,
          0,
          outcome.started_at,
          outcome.finished_at,
          {}};
  std::vector<std::string_view> details(outcome.errors.empty() ? 0 : b.parts.size());
  for (size_t i = 0, ran = 0; i < b.parts.size(); ++i) {
    auto& p = b.parts[i];
    const auto& r = b.order.requests[i];
    if (p.error == failure::none && !outcome.errors.empty()) {
      details[i] = outcome.errors[ran++];
      if (!details[i].empty()) p.error = failure::device_error;
    }
    if (p.error == failure::none) done.rows += r.rows;
    // A gateway that is not up cannot pull the output: its request runs again when it is.
    if (p.error == failure::none && !up.contains(r.gateway)) p.error = failure::stale_memory;
    if (p.error == failure::stale_memory) done.stale.push_back(r.id);
  }
  const auto times = times_of(b, outcome);
  for (size_t i = 0; i < b.parts.size(); ++i) {
    auto& p = b.parts[i];
    const auto& r = b.order.requests[i];
    auto it =
        std::find_if(replies.begin(), replies.end(), [&](const auto& a) { return a.first == r.gateway; });
    if (it == replies.end()) {
      it = replies.insert(it, {r.gateway, {b.order.batch, done.rows, {}, times}});
      it->second.results.reserve(b.parts.size());
    }
    it->second.results.push_back(
        {r.id, r.attempt, p.error, p.error == failure::none ? p.output.region : region_ref{}, {}});
    if (!details.empty()) it->second.results.back().detail = details[i];
  }
  return out;
}

}  // namespace troupe
