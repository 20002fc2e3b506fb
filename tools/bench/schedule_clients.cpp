#include "tools/bench/schedule_clients.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace troupe {
namespace {

constexpr duration time_for_last = 100ms;
/// Arrivals reach the scheduler in the turns of their frontend, which are this far apart.
constexpr duration frontend_turn = 250us;

schedule_trial::cpu_time cpu_now() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {seconds(u.ru_utime) + seconds(u.ru_stime), seconds(u.ru_stime)};
}

}  // namespace

schedule_clients::schedule_clients(address self, outbox& out, options o, std::promise<schedule_trial> done)
    : actor(self, out), options_(std::move(o)), done_(std::move(done)) {}

void schedule_clients::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](node_up&) {
                         if (start_ == never) begin(now);
                       },
                       [&](completion& c) { count(c, now); },
                       [&](drops& d) {
                         for (const auto& r : d.requests) result_.dropped += is_measured(arrival_of(r.id));
                       },
                   });
}

void schedule_clients::on_time(time_point now) {
  if (now < next_turn_) return;
  if (!began_ && now >= from_) began_ = cpu_now();
  if (!ended_ && now >= until_) {
    ended_ = true;
    const auto ended = cpu_now();
    result_.cpu = {ended.all - began_->all, ended.kernel - began_->kernel};
  }
  if (now >= until_ + options_.slo + time_for_last) {
    next_turn_ = never;
    done_.set_value(result_);
    return;
  }
  for (auto& s : streams_) arrive(s, std::min(now, until_));
  next_turn_ = std::max(next_turn_ + frontend_turn, now);
}

void schedule_clients::begin(time_point now) {
  start_ = next_turn_ = now;
  from_ = now + schedule_trial::warmup;
  until_ = from_ + schedule_trial::measured;
  for (const auto m : options_.models) {
    const arrival_spec spec{arrival_kind::poisson, options_.rate_of_model, 1};
    streams_.push_back(
        {m, arrival_process(spec, now, random_stream(options_.seed, "arrivals", m.value)), now, {}});
    streams_.back().next = streams_.back().process.next();
  }
}

void schedule_clients::arrive(stream& s, time_point until) {
  while (s.next < until) {
    request r;
    r.id = request_id{static_cast<uint64_t>((s.next - start_).count()) << 16 | s.model.value};
    r.model = s.model;
    r.gateway = self_;
    r.arrival = s.next;
    r.deadline = s.next + options_.slo;
    s.out.requests.push_back(r);
    result_.offered += is_measured(s.next);
    s.next = std::max(s.process.next(), s.next + 1ns);
  }
  if (s.out.requests.empty()) return;
  const auto n = s.out.requests.size();
  send({self_.node, self_.incarnation, role::model_queue, s.model.value}, std::move(s.out));
  s.out = {};
  s.out.requests.reserve(n + n / 2);
}

void schedule_clients::count(const completion& c, time_point now) {
  ++result_.batches;
  result_.rows += c.batch_rows;
  result_.grant_behind.add(c.times.ordered_at - (c.times.planned_at - options_.hop));
  for (const auto& r : c.results) {
    const auto arrival = arrival_of(r.id);
    if (!is_measured(arrival)) continue;
    result_.admit_to_grant.add(c.times.ordered_at - arrival);
    if (r.error == failure::none && now <= arrival + options_.slo)
      ++result_.good;
    else
      ++result_.late;
  }
}

}  // namespace troupe
