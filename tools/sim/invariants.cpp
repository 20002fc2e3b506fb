#include "tools/sim/invariants.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "gpu/device/emulated_device.hpp"
#include "tools/sim/faults.hpp"

namespace troupe::sim {
namespace {

/// Clocks within the cluster's assumed drift need no tolerance.
duration tolerance_for(const workload_spec& workload) {
  constexpr double assumed_ppm = 200;
  double worst = 2 * workload.clocks.max_drift_ppm;
  for (const auto& f : workload.faults)
    if (f.kind == fault_kind::clock_drift) worst += std::abs(f.drift_ppm);
  if (has_random_faults(workload)) worst += 100;
  return worst <= assumed_ppm ? 20us
                              : duration{static_cast<int64_t>(to_seconds(workload.length) * worst * 1e3)};
}

/// Whether faults hit only dedicated schedulers: no other role is lost with them.
bool only_schedulers_fail(const workload_spec& workload, const cluster_spec& cluster) {
  return has_standby(cluster) && !has_random_faults(workload) &&
         std::all_of(workload.faults.begin(), workload.faults.end(), [&](const fault_spec& f) {
           const auto& n = cluster.nodes[f.a.value];
           return (f.kind == fault_kind::crash || f.kind == fault_kind::restart ||
                   f.kind == fault_kind::freeze) &&
                  n.schedules() && !n.has(node_role::worker) && !n.has(node_role::gateway);
         });
}

}  // namespace

void outcome_check::unknown_answer(request_id id) {
  violations_.add("outcome", fmt::format("request {:x} got a second outcome, or was never sent", id.value));
}

void outcome_check::at_end(size_t unfinished) {
  if (unfinished > 0) violations_.add("outcome", fmt::format("{} requests never got an outcome", unfinished));
}

void ledger_check::answered(node_id gateway, model_id model, const outcome& how) {
  auto& f = count_[{gateway, model}];
  switch (how.kind) {
    case outcome_kind::finished: ++f.finished; break;
    case outcome_kind::dropped: ++f.dropped[static_cast<size_t>(how.reason)]; break;
    case outcome_kind::failed: ++f.failed[static_cast<size_t>(how.error)]; break;
  }
}

void ledger_check::begin(node_id gateway) {
  std::erase_if(count_, [&](const auto& x) { return x.first.first == gateway; });
}

void ledger_check::report(node_id gateway, const std::vector<std::string>& models, const group_report& said) {
  std::map<std::string, outcome_counts> theirs;
  double in_flight = 0;
  const auto label = [](const metric& m, const char* key) -> std::string_view {
    for (const auto& [k, v] : m.labels)
      if (k == key) return v;
    return "";
  };
  for (const auto& m : said.metrics) {
    if (m.name == "troupe_ledger_balanced" && m.value != 1)
      violations_.add("ledger", fmt::format("the ledger of gateway node {} does not balance", gateway.value));
    if (m.name == "troupe_requests_in_flight") in_flight = m.value;
    const std::string model{label(m, "model")};
    const auto n = static_cast<uint64_t>(m.value);
    if (m.name == "troupe_requests_accepted_total") theirs[model].accepted = n;
    if (m.name == "troupe_requests_finished_total") theirs[model].finished = n;
    for (size_t i = 1; m.name == "troupe_requests_dropped_total" && i < drop_reason_count; ++i)
      if (label(m, "reason") == to_string(static_cast<drop_reason>(i))) theirs[model].dropped[i] = n;
    for (size_t i = 1; m.name == "troupe_requests_failed_total" && i < failure_count; ++i)
      if (label(m, "reason") == to_string(static_cast<failure>(i))) theirs[model].failed[i] = n;
  }
  uint64_t open = 0;
  for (uint32_t i = 0; i < models.size(); ++i) {
    const auto& ours = count_[{gateway, model_id{i}}];
    open += ours.accepted - ours.finished - ours.total_dropped() - ours.total_failed();
    if (theirs[models[i]] == ours) continue;
    const auto& t = theirs[models[i]];
    violations_.add(
        "ledger",
        fmt::format("gateway node {}, model {}: accepted, finished, dropped, failed: the ledger says {}, "
                    "{}, {}, {}, the clients {}, {}, {}, {}",
                    gateway.value, models[i], t.accepted, t.finished, t.total_dropped(), t.total_failed(),
                    ours.accepted, ours.finished, ours.total_dropped(), ours.total_failed()));
  }
  if (open != static_cast<uint64_t>(in_flight))
    violations_.add("ledger",
                    fmt::format("gateway node {} has {} requests in flight, its clients wait for {}",
                                gateway.value, in_flight, open));
}

void start_check::started(slot_id slot, const order_log::order& o, time_point now) {
  if (now > o.start_by)
    violations_.add("late start",
                    fmt::format("batch {} of model {} started on slot {} {} ms after its latest",
                                o.batch.value, o.model.value, slot.value, to_ms(now - o.start_by)));
}

void start_check::started(slot_id slot, request_id id, duration now, duration latest) {
  if (now > latest + tolerance_)
    violations_.add("late start",
                    fmt::format("request {:x} started on slot {} {} ms too late for its deadline", id.value,
                                slot.value, to_ms(now - latest)));
}

void start_check::started(slot_id slot, uint32_t rows, const model_spec& model) {
  if (rows > model.max_batch)
    violations_.add("batch size", fmt::format("slot {} started {} rows of model '{}', which takes {}",
                                              slot.value, rows, model.name, model.max_batch));
}

void start_check::started_mixed(slot_id slot, request_id id, uint64_t shape, uint64_t others) {
  violations_.add("one shape a batch",
                  fmt::format("slot {} started request {:x} of shape {} with others of shape {}", slot.value,
                              id.value, shape, others));
}

void slot_check::started_while_running(slot_id slot) {
  violations_.add("one batch a slot",
                  fmt::format("slot {} started a batch while it ran another", slot.value));
}

void bytes_check::foreign_input(slot_id slot, model_id model) {
  violations_.add(
      "bytes", fmt::format("slot {} ran inputs of model {} that no queue ordered", slot.value, model.value));
}

void bytes_check::answered(const client_request_record& r, std::span<const std::byte> output,
                           size_t expected_bytes) {
  thread_local std::vector<std::byte> input, expected;
  input.resize(r.input_bytes);
  expected.resize(expected_bytes);
  fill_input(r.id, input);
  emulated_output(input, expected);
  if (output.size() != expected.size() || std::memcmp(output.data(), expected.data(), output.size()) != 0)
    violations_.add("bytes",
                    fmt::format("the client of request {:x} got an output that is not its own", r.id.value));
}

void memory_check::at_end(node_id node, size_t slots, uint64_t bytes) {
  if (slots > 0)
    violations_.add("memory",
                    fmt::format("node {} still holds {} slots, {} bytes", node.value, slots, bytes));
}

void poison_check::killed(request_id id, node_id worker, term_id term) {
  auto& of_it = poisons_[id];
  if (of_it.heard >= 2 || of_it.untold == term)
    violations_.add("poison", fmt::format("request {:x} killed one worker too many, that of node {}",
                                          id.value, worker.value));
  of_it.untold = term;
}

void poison_check::failed(request_id id, failure why) {
  if (crashes_distinguished_ && why == failure::poison && !is_poison(id))
    violations_.add("poison", fmt::format("request {:x} was classified as poison and is not", id.value));
}

void loaded_check::started_unloaded(slot_id slot, model_id model) {
  violations_.add(
      "loaded", fmt::format("slot {} was to run model {}, which it does not have", slot.value, model.value));
}

void loaded_check::unloaded_while_running(slot_id slot, model_id model) {
  violations_.add("loaded", fmt::format("slot {} unloaded model {} while it ran", slot.value, model.value));
}

void drain_check::left(node_id node, size_t waiting, size_t running) {
  if (waiting > 0 || running > 0)
    violations_.add("drain",
                    fmt::format("node {} left though {} clients waited for it and {} of its slots ran",
                                node.value, waiting, running));
}

void deployment_check::at_end(node_id node, const std::set<std::string>& served) {
  for (const auto& [model, wanted] : wanted_)
    if (served.contains(model) != wanted)
      violations_.add("deployment", fmt::format("node {} {} model '{}' in the end", node.value,
                                                wanted ? "does not serve" : "still serves", model));
}

void quota_check::asked(request_id id, node_id gateway, uint32_t tenant, uint32_t concurrency) {
  if (fault_free_ && concurrency > 0) requests_.insert({id, {{gateway, tenant}, concurrency}});
}

void quota_check::started(slot_id slot, const std::vector<request_id>& requests) {
  for (const auto id : requests) {
    const auto it = requests_.find(id);
    if (it == requests_.end()) continue;
    const auto& [who, concurrency] = it->second;
    batches_[slot].push_back(id);
    if (const auto n = ++running_[who]; n > concurrency)
      violations_.add("quota", fmt::format("{} requests of tenant {} at gateway node {} run, at most {} may",
                                           n, who.second, who.first.value, concurrency));
  }
}

void quota_check::ended(slot_id slot, bool stopped) {
  for (const auto id : std::exchange(batches_[slot], {})) {
    const auto it = requests_.find(id);
    --running_[it->second.who];
    if (!stopped) requests_.erase(it);
  }
}

void fault_free_check::failed(request_id id, failure why) {
  if (fault_free_)
    violations_.add("fault free", fmt::format("request {:x} failed ({}) in a run without faults", id.value,
                                              to_string(why)));
}

void home_check::delivered(const envelope& e, duration now) {
  if (e.to.kind != role::llm_engine) return;
  if (const auto* c = std::get_if<cancel>(&e.body)) cancelled_.try_emplace({c->id, e.to.index}, now);
  if (const auto* g = std::get_if<generate>(&e.body))
    for (const auto& r : g->requests) cancelled_.erase({r.id, e.to.index});
}

void home_check::sent(const envelope& e, duration now) {
  if (const auto* h = std::get_if<handed_over>(&e.body)) left_.emplace(h->id, h->attempt);
  const auto* g = std::get_if<generated>(&e.body);
  if (g == nullptr) return;
  for (const auto& t : g->tokens) {
    const auto ended = cancelled_.find({t.id, e.from.index});
    if (left_.contains({t.id, t.attempt}) || (ended != cancelled_.end() && ended->second < now))
      violations_.add("home", fmt::format("engine {} sends a token of request {}, which has left it",
                                          e.from.index, t.id.value));
  }
}

void term_check::started(slot_id slot, term_id term) {
  if (term < highest_[slot])
    violations_.add("one term a slot", fmt::format("slot {} started a batch of term {} though it knew of {}",
                                                   slot.value, term.value, highest_[slot].value));
}

void single_execution_check::started(slot_id slot, const std::vector<request_id>& requests) {
  if (!only_schedulers_) return;
  for (const auto& [other, theirs] : running_)
    for (const auto id : theirs)
      if (std::find(requests.begin(), requests.end(), id) != requests.end())
        violations_.add("once at a time",
                        fmt::format("request {:x} started on slot {} while it ran on slot {}", id.value,
                                    slot.value, other.value));
  running_[slot] = requests;
}

invariants::invariants(const duration& truth, const workload_spec& workload, const cluster_spec& cluster)
    : broken(truth),
      starts(broken, tolerance_for(workload)),
      fault_free(broken, faults_are_only(workload, {})),
      poisons(broken, faults_are_only(workload, {fault_kind::poison, fault_kind::freeze, fault_kind::delay,
                                                 fault_kind::reorder, fault_kind::slow_link,
                                                 fault_kind::stall, fault_kind::clock_drift})),
      quotas(broken, faults_are_only(workload, {})),
      once(broken, only_schedulers_fail(workload, cluster)),
      plans(broken, cluster) {}

}  // namespace troupe::sim
