#include "tools/sim/clients.hpp"

#include <algorithm>

#include "actors/frontend/frontend.hpp"

namespace troupe::sim {
namespace {

/// The rate at which arrivals are drawn: the initial rate, unless it is so low, or a segment so much higher,
/// that the drawn times would overflow 64 bits of nanoseconds.
double drawn_rate(const model_load& load, const std::vector<rate_segment>& segments) {
  constexpr double min = 1e-3, max_pace = 1e3;
  double highest = 1;
  for (const auto& s : segments) highest = std::max(highest, s.scale);
  return std::max({load.rate_rps, load.rate_rps * highest / max_pace, min});
}

}  // namespace

clients::clients(const environment& s, const options& o)
    : env_(s),
      options_(o),
      random_(o.seed, "clients"),
      tenant_draws_(o.seed, "tenants"),
      shape_draws_(o.seed, "shapes"),
      sources_(s.workload.models.size()),
      poison_due_(s.cluster.nodes.size()),
      statistics_(s.workload.models.size()) {
  for (uint32_t i = 0; i < s.cluster.nodes.size(); ++i) {
    ports_.push_back(std::make_unique<port_of_node>(*this, node_id{i}));
    if (s.cluster.nodes[i].has(node_role::gateway)) gateways_.push_back(node_id{i});
  }
}

void clients::start() {
  start_ = env_.time.now();
  for (size_t i = 0; i < sources_.size(); ++i) {
    const auto& load = env_.workload.models[i];
    if (load.rate_rps <= 0) continue;
    ++running_;
    const double rate = drawn_rate(load, env_.workload.segments);
    sources_[i].emplace(source{{arrival_spec{load.arrivals, rate, load.gamma_cv}, time_point{},
                                random_stream(options_.seed, "arrivals", i)},
                               load.rate_rps / rate});
    schedule_next(i);
  }
}

/// Segments stretch and compress time.
duration clients::real_time(duration operational, double pace) const {
  duration at{}, left = operational;
  double scale = pace;
  for (const auto& s : env_.workload.segments) {
    const double passes = static_cast<double>((s.at - at).count()) * scale;
    if (passes >= static_cast<double>(left.count())) break;  // also if the result exceeds a duration
    left -= duration{static_cast<int64_t>(passes)};
    at = s.at;
    scale = s.scale * pace;
  }
  if (scale <= 0) return duration::max();
  const double rest = static_cast<double>(left.count()) / scale;
  return rest > 1e18 ? duration::max() : at + duration{static_cast<int64_t>(rest)};
}

void clients::schedule_next(size_t model) {
  auto& [arrivals, pace] = *sources_[model];
  const auto after = real_time(arrivals.next().time_since_epoch(), pace);
  const auto from = env_.workload.models[model].from;
  const auto at = after == duration::max() ? after : from + after;
  if (at >= env_.workload.length) {
    --running_;
    return;
  }
  env_.time.at(start_ + at, sim_event::client, [this, model] {
    offer(model);
    schedule_next(model);
  });
}

void clients::offer(size_t model) {
  const auto& load = env_.workload.models[model];
  client_request_record r;
  r.model = model_id{static_cast<uint32_t>(model)};
  r.rows = load.rows;
  if (load.shapes > 1) r.shape = 1 + shape_draws_.below(load.shapes);
  r.slo = load.slo;
  r.offered_at = env_.time.now();
  r.measured = r.offered_at - start_ >= env_.workload.warmup;
  r.gateway = gateways_[random_.below(gateways_.size())];
  if (auto& due = poison_due_[r.gateway.value]; due > 0) {
    --due;
    r.poison = true;
  }
  ++total_.offered;
  if (r.measured) ++statistics_[model].offered;
  if (env_.frontend_of(r.gateway) == nullptr) return end(r, client_outcome::refused);
  if (!env_.time.frozen(r.gateway)) return enter(std::move(r));
  const auto arrival_number = next_arrival_number_++;
  arriving_.emplace(arrival_number, std::move(r));
  // A frozen gateway accepts it later.
  env_.time.at(env_.time.now(), sim_event::client, arriving_.at(arrival_number).gateway,
               [this, arrival_number] { arrive(arrival_number); });
}

void clients::arrive(uint64_t arrival_number) {
  auto r = std::move(arriving_.at(arrival_number));
  arriving_.erase(arrival_number);
  enter(std::move(r));
}

void clients::enter(client_request_record r) {
  auto& gateway = *env_.frontend_of(r.gateway);
  const auto& model = env_.models[r.model.value];
  const auto served = gateway.models().find(model.name);
  if (!served) return end(r, client_outcome::refused);
  const uint64_t bytes = uint64_t{input_row_of(model)} * r.rows;
  const auto slot = gateway.pool().take(bytes);
  if (!slot) return end(r, client_outcome::refused);
  const auto now = env_.clock_of(r.gateway);
  request asked;
  asked.id = r.id = gateway.next_request_id();
  asked.model = served->model;
  asked.rows = r.rows;
  asked.shape_class = r.shape;
  asked.tenant = some_tenant();
  if (const auto t = asked.tenant; t > 0 && t <= env_.cluster.tenants.size())
    env_.checks.quotas.asked(asked.id, r.gateway, t, env_.cluster.tenants[t - 1].concurrency);
  asked.arrival = now;
  asked.deadline = now + r.slo;
  asked.input = slot->region;
  fill_input(r.id, slot->payload);
  if (r.poison) env_.checks.poisons.sent(r.id);
  r.input_bytes = bytes;
  r.accepted = true;
  r.accepted_at = env_.time.now();
  env_.checks.ledgers.accepted(r.gateway, r.model);
  if (options_.hang_up > 0 && random_.uniform() < options_.hang_up) {
    const auto timeout =
        duration{static_cast<int64_t>(random_.uniform() * 2 * static_cast<double>(r.slo.count()))};
    env_.time.at(env_.time.now() + timeout, sim_event::client, r.gateway,
                 [&gateway, id = r.id] { gateway.to_gateway(client_gone{id}); });
  }
  open_.add(r.id, std::move(r));
  gateway.to_gateway(client_request{asked});
}

uint32_t clients::some_tenant() {
  const auto& shares = env_.workload.tenants;
  if (shares.empty()) return 0;
  double left = tenant_draws_.uniform();
  uint32_t i = 0;
  while (i + 1 < shares.size() && left >= shares[i]) left -= shares[i++];
  return i + 1;
}

void clients::on_answer(node_id gateway, request_id id, const outcome& how) {
  const bool known = open_.contains(id);
  auto r = open_.take(id);
  env_.checks.ledgers.answered(gateway, r.model, how);
  if (!known) return env_.checks.outcomes.unknown_answer(id);
  switch (how.kind) {
    case outcome_kind::finished:
      env_.checks.bytes.answered(r, how.output, uint64_t{output_row_of(env_.models[r.model.value])} * r.rows);
      return end(r, client_outcome::finished);
    case outcome_kind::dropped: return end(r, client_outcome::dropped, how.reason);
    case outcome_kind::failed:
      env_.checks.fault_free.failed(id, how.error);
      env_.checks.poisons.failed(id, how.error);
      return end(r, client_outcome::failed);
  }
}

void clients::gateway_died(node_id gateway) {
  for (auto it = arriving_.begin(); it != arriving_.end();) {
    if (it->second.gateway != gateway) {
      ++it;
      continue;
    }
    end(it->second, client_outcome::refused);
    it = arriving_.erase(it);
  }
  std::vector<request_id> lost;
  for (const auto& [id, r] : open_.entries())
    if (r.gateway == gateway) lost.push_back(id);
  for (const auto id : lost) {
    auto r = open_.take(id);
    end(r, client_outcome::lost_with_gateway);
  }
}

size_t clients::waiting_at(node_id gateway) const {
  size_t n = 0;
  for (const auto& [id, r] : open_.entries()) n += r.gateway == gateway;
  return n;
}

void clients::end(client_request_record& r, client_outcome how, drop_reason why) {
  const auto now = env_.time.now();
  if (r.accepted) env_.faults.request_ended(r, now);
  const auto count = [&](request_statistics& b) {
    ++b.outcomes[static_cast<size_t>(how)];
    b.no_capacity += why == drop_reason::no_capacity;
    if (how == client_outcome::dropped && b.first_dropped == request_id{}) b.first_dropped = r.id;
    if (how != client_outcome::finished) return;
    const auto took = now - r.offered_at;
    b.latency.add(took);
    b.in_slo += took <= r.slo;
  };
  count(total_);
  if (r.measured) count(statistics_[r.model.value]);
}

}  // namespace troupe::sim
