#include "tools/common/decision_story.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {
namespace {

using nlohmann::ordered_json;

std::string count(uint64_t n, const char* what, const char* ending = "s") {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : ending);
}

std::string ms(duration d) { return fmt::format("{:.2f} ms", to_ms(d)); }

class story_builder {
 public:
  story_builder(const decision_story& s, const cluster_spec& cluster)
      : story_(s), request_(s.request), cluster_(cluster) {}

  ordered_json document() {
    const auto& r = request_;
    const auto& g = story_.gateway;
    add(r.arrival, "arrived",
        fmt::format("arrives: {}, to be answered within {}", count(r.rows, "row"),
                    ms(r.deadline - r.arrival)),
        {{"rows", r.rows}});
    if (r.known)
      add(r.taken_at, "queued",
          fmt::format("is in the queue of '{}', where {} already", r.model_name, ahead()),
          {{"rows_ahead", r.rows_ahead}});
    for (const auto& c : r.candidates) describe(c);
    for (size_t i = 0; i < r.batches.size(); ++i) describe(r.batches[i], story_.grants[i]);
    for (const auto& d : r.drops) describe(d);
    if (g.known) describe(g);
    std::stable_sort(events_.begin(), events_.end(),
                     [](const event& a, const event& b) { return a.at < b.at; });
    ordered_json out{{"request", r.id.value},
                     {"model", r.model_name},
                     {"state", g.known ? g.outcome : r.state},
                     {"rows", r.rows},
                     {"deadline_ms", since(r.deadline)}};
    if (r.known) out.update(ordered_json{{"batching", r.batching}, {"shedding", r.shedding}});
    out["candidates_forgotten"] = r.candidates_forgotten;
    if (g.known)
      out["reason"] = g.reason;
    else if (!r.drops.empty())
      out["reason"] = r.drops[0].reason;
    out["events"] = ordered_json::array();
    for (auto& e : events_) out["events"].push_back(std::move(e.fields));
    return out;
  }

 private:
  struct event {
    time_point at;
    ordered_json fields;
  };

  double since(time_point t) const { return to_ms(t - request_.arrival); }
  std::string when(time_point t) const { return ms(t - request_.arrival); }
  std::string ahead() const {
    return count(request_.rows_ahead, "row") + (request_.rows_ahead == 1 ? " waits" : " wait");
  }
  std::string name_of(model_id m) const {
    return m.value < cluster_.models.size() ? "'" + cluster_.models[m.value].name + "'"
                                            : fmt::format("model {}", m.value);
  }

  void add(time_point at, const char* what, std::string text, const ordered_json& more = {}) {
    ordered_json fields{{"at_ms", since(at)}, {"event", what}, {"text", std::move(text)}};
    fields.update(more);
    events_.push_back({at, std::move(fields)});
  }

  void describe(const candidate_decision& c) {
    const ordered_json numbers{{"sequence", c.sequence}, {"batch_rows", c.rows}};
    if (c.rows == 0) return add(c.at, "candidate", "the queue has nothing to run", numbers);
    add(c.at, "candidate",
        fmt::format("the queue offers a batch of {}: to start at {}, at {} at the latest",
                    count(c.rows, "row"), when(c.exec_at), when(c.latest)),
        numbers);
  }

  void describe(const batch_decision& b, const grant_story& g) {
    const auto again = b.attempt > 1 ? fmt::format("attempt {}: ", b.attempt) : "";
    if (!b.known)
      return add(request_.deadline, "ordered",
                 fmt::format("{}it was in batch {}, which has no further record", again, b.batch.value),
                 {{"batch", b.batch.value}});
    if (g.known) describe_grant(g, b.slot);
    add(b.granted_at, "ordered",
        fmt::format(
            "{}batch {} for slot {}, free at {}: {} in {}{}, to start at {}, at {} at the latest, and "
            "to end at {}",
            again, b.batch.value, b.slot.value, when(std::max(b.free_at, b.granted_at)), count(b.rows, "row"),
            count(b.requests, "request"), b.alone ? ", alone, as it may have crashed a worker" : "",
            when(b.exec_at), when(b.start_by), when(b.planned_end)),
        {{"batch", b.batch.value},
         {"slot", b.slot.value},
         {"batch_rows", b.rows},
         {"requests", b.requests},
         {"attempt", b.attempt},
         {"alone", b.alone},
         {"start_ms", since(b.exec_at)},
         {"start_by_ms", since(b.start_by)},
         {"end_ms", since(b.planned_end)}});
    const ordered_json of{{"batch", b.batch.value}};
    if (b.end == "done") {
      add(b.started_at, "started", fmt::format("batch {} starts on slot {}", b.batch.value, b.slot.value),
          of);
      const auto left = request_.deadline - b.finished_at;
      add(b.finished_at, "done",
          fmt::format("batch {} is done, {} {} the deadline", b.batch.value,
                      ms(left < duration{} ? -left : left), left < duration{} ? "after" : "before"),
          of);
    } else if (b.end == "preempted") {
      describe_preemption(b, g);
    } else if (b.end == "refused") {
      add(b.finished_at, "refused", fmt::format("the worker refuses batch {}: {}", b.batch.value, b.why), of);
    } else if (b.end != "running") {
      add(b.finished_at, "lost",
          fmt::format("the worker {} with batch {}", b.end == "worker_crashed" ? "crashes" : "is lost",
                      b.batch.value),
          of);
    }
  }

  void describe_preemption(const batch_decision& b, const grant_story& g) {
    if (b.started_at < b.finished_at)
      add(b.started_at, "started", fmt::format("batch {} starts on slot {}", b.batch.value, b.slot.value),
          {{"batch", b.batch.value}});
    ordered_json more{{"batch", b.batch.value}};
    auto text = fmt::format("batch {} is preempted", b.batch.value);
    if (g.known && g.taken_at != never) {
      text += g.taken_rows > 0
                  ? fmt::format(" by a batch of {} of {}", count(g.taken_rows, "row"), name_of(g.taken_by))
                  : fmt::format(" by a batch of {}", name_of(g.taken_by));
      text += fmt::format(", which the arbiter granted its slot at {}", when(g.taken_at));
      more["by_model"] = g.taken_by.value;
      more["by_rows"] = g.taken_rows;
    }
    if (b.started_at < b.finished_at)
      text += fmt::format("; the {} that it ran are lost", ms(b.finished_at - b.started_at));
    add(b.finished_at, "preempted", text, more);
  }

  void describe_grant(const grant_story& g, slot_id slot) {
    auto text = fmt::format("the arbiter grants slot {}", slot.value);
    if (g.since != never)
      text += fmt::format(" to the candidate of {} registered at {}", count(g.rows, "row"), when(g.since));
    if (g.rivals.empty()) {
      text += "; there is no other candidate";
    } else {
      text += fmt::format("; {}: ", count(g.rivals.size(), "other candidate"));
      for (size_t i = 0; i < std::min<size_t>(3, g.rivals.size()); ++i)
        text +=
            fmt::format("{}{} ({}, from {} to {})", i > 0 ? ", " : "", name_of(g.rivals[i].model),
                        count(g.rivals[i].rows, "row"), when(g.rivals[i].exec_at), when(g.rivals[i].latest));
      if (g.rivals.size() > 3) text += ", ...";
    }
    if (g.preempts) text += "; the batch that runs there is preempted";
    ordered_json numbers{{"slot", slot.value}, {"preempts", g.preempts}, {"rivals", ordered_json::array()}};
    for (const auto& r : g.rivals)
      numbers["rivals"].push_back({{"model", r.model.value},
                                   {"batch_rows", r.rows},
                                   {"start_ms", since(r.exec_at)},
                                   {"start_by_ms", since(r.latest)}});
    add(g.at, "granted", std::move(text), numbers);
  }

  void describe(const drop_decision& d) {
    ordered_json numbers{{"reason", d.reason}, {"rule", d.rule}};
    if (d.rule == "queue_bound") numbers["may_wait"] = d.rows;
    if ((d.rule == "batching" || d.rule == "preempted") && d.rows > 0) {
      numbers["batch_rows"] = d.rows;
      numbers["needs_ms"] = to_ms(d.finish - d.at);
      numbers["left_ms"] = to_ms(request_.deadline - d.at);
    }
    add(d.at, "dropped", fmt::format("is dropped as {}: {}", d.reason, why(d)), numbers);
  }

  void describe(const gateway_decision& d) {
    ordered_json numbers{{"reason", d.reason}};
    if (d.reason == "queue_full") {
      numbers["in_flight"] = d.in_flight;
      numbers["max_in_flight"] = d.max_in_flight;
    }
    if (!d.tenant.empty()) numbers["tenant"] = d.tenant;
    if (d.retry_after > duration{}) numbers["retry_after_ms"] = to_ms(d.retry_after);
    const auto grounds = why(d);
    add(d.at, d.at_admission ? "turned_away" : "given_up",
        fmt::format("its gateway {} as {}{}{}", d.at_admission ? "rejects it" : "gives it up", d.reason,
                    grounds.empty() ? "" : ": ", grounds),
        numbers);
  }

  std::string why(const gateway_decision& d) const {
    if (d.reason == "draining") return "the gateway drains";
    if (d.reason == "undeployed") return "the model is no longer served";
    if (d.reason == "no_capacity") return "no scheduler is up";
    if (d.reason == "cancelled") return "its client disconnected";
    if (d.reason == "queue_full")
      return fmt::format("{} in flight there, of at most {} (limits.requests_in_flight)",
                         d.in_flight == 1 ? "1 request is" : fmt::format("{} requests are", d.in_flight),
                         d.max_in_flight);
    if (d.reason == "quota")
      return fmt::format("tenant '{}' is at its {}; retry after {}", d.tenant, d.detail, ms(d.retry_after));
    if (d.reason == "timeout")
      return fmt::format("it had no answer {} after its deadline (limits.request_timeout_ms)",
                         ms(d.at - d.deadline));
    if (d.reason == "scheduler_lost") return "the scheduler that had it failed";
    if (d.reason == "worker_lost") return "the worker failed before its outputs were pulled";
    if (d.reason == "stale_memory") return "its bytes were released before they were pulled";
    if (d.reason == "poison") return "its worker failed twice, the second time with it alone";
    return d.detail;
  }

  std::string why(const drop_decision& d) const {
    const auto& r = request_;
    if (d.rule == "no_worker") return "no live worker has the model";
    if (d.rule == "cancelled") return "its client disconnected";
    if (d.rule == "attempts") return "too many workers refused it";
    if (d.rule == "preempted")
      return fmt::format("its batch was preempted, and even alone it needs {} more, {} are left",
                         ms(d.finish - d.at), ms(r.deadline - d.at));
    if (d.rule == "not_started") return "the worker could not start its batch in time";
    if (d.rule == "poison_retry_too_late")
      return "it had to run alone, as it may have crashed a worker, and was too late";
    if (d.rule == "queue_bound")
      return fmt::format(
          "{}, of at most {} (limits.queue_rows, or in overload the rows that the model can serve in time)",
          ahead(), count(d.rows, "row"));
    if (d.rows == 0) return fmt::format("decided by the batching policy '{}'", r.batching);
    const auto numbers =
        fmt::format("needs {} (ℓ({}) = {}, {} until it could start, {} for the answer), {} are left",
                    ms(d.finish - d.at), d.rows, ms(d.finish - r.response - d.start), ms(d.start - d.at),
                    ms(r.response), ms(r.deadline - d.at));
    return d.reason == "shed" ? fmt::format("the batch of {} that '{}' keeps possible {}",
                                            count(d.rows, "row"), r.shedding, numbers)
                              : "even alone it " + numbers;
  }

  const decision_story& story_;
  const request_story& request_;
  const cluster_spec& cluster_;
  std::vector<event> events_;
};

constexpr size_t told_first = 2, told_last = 3;  // of consecutive candidates

}  // namespace

ordered_json story_document(const decision_story& story, const cluster_spec& cluster) {
  return story_builder(story, cluster).document();
}

std::string story_text(const ordered_json& document) {
  const auto state = document["state"].get<std::string>();
  const auto* const verb = state == "failed"                                              ? "has"
                           : state == "finished" || state == "dropped" || state == "lost" ? "was"
                                                                                          : "is";
  auto out = fmt::format("request {} of model '{}' {} {}; deadline {:.2f} ms after its arrival",
                         document["request"].get<uint64_t>(), document["model"].get<std::string>(), verb,
                         state, document["deadline_ms"].get<double>());
  if (document.contains("batching"))
    out += fmt::format("; {}, {}", document["batching"].get<std::string>(),
                       document["shedding"].get<std::string>());
  out += "\n\n";
  if (document["candidates_forgotten"].get<bool>())
    out += "            earlier candidates are not recorded\n";
  const auto& events = document["events"];
  const auto is_candidate = [&](size_t i) { return events[i]["event"] == "candidate"; };
  for (size_t i = 0; i < events.size();) {
    size_t end = i + 1;
    while (is_candidate(i) && end < events.size() && is_candidate(end)) ++end;
    for (size_t k = i; k < end; ++k) {
      if (k == i + told_first && end - k > told_last + 1) {
        const auto skipped = end - k - told_last;
        out += fmt::format("            {} more candidates\n", skipped);
        k += skipped;
      }
      out += fmt::format("{:>8.2f} ms  {}\n", events[k]["at_ms"].get<double>(),
                         events[k]["text"].get<std::string>());
    }
    i = end;
  }
  return out;
}

}  // namespace troupe
