#include "tools/schedule_trial.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <caf/all.hpp>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "actors/gpu_worker.hpp"
#include "actors/host.hpp"
#include "actors/model_queue.hpp"
#include "actors/no_memory.hpp"
#include "actors/post_office.hpp"
#include "actors/rank_arbiter.hpp"
#include "gpu/emulated_device.hpp"
#include "policies/arrivals.hpp"

namespace troupe {
namespace {

constexpr node_id self{0};
constexpr incarnation life{1};
constexpr duration grace = 100ms;
/// Arrivals reach the scheduler in the turns of their frontend, which come this far apart.
constexpr duration frontend_turn = 250us;
/// Left free for threads that wake late: from a decision to its order, to start, and to answer. It costs
/// little: a batch that is 5 % smaller is 0.3 % less efficient.
constexpr duration hop = 500us, margin = 2ms, response = 3ms;
constexpr host_timing timing{0us, 0us, 100us};

address named(role kind, uint32_t index = 0) { return {self, life, kind, index}; }

struct cpu_used {
  double all, kernel;  ///< seconds, of this process
};
cpu_used cpu_now() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {seconds(u.ru_utime) + seconds(u.ru_stime), seconds(u.ru_stime)};
}

/// All clients and their gateway: sends what has arrived since its last turn, counts what comes back. The id
/// of a request says when it arrived and for which model, so that nothing is kept for it.
class open_loop final : public shell {
 public:
  open_loop(address me, outbox& out, const bench_schedule_options& o, double rate,
            std::promise<schedule_trial> done)
      : shell(me, out), options_(o), slo_(from_ms(o.slo_ms)), rate_(rate), done_(std::move(done)) {}

  void on(envelope& e, time_point now) override {
    dispatch(e.body, overloaded{
                         [&](node_up&) { begin(now); },
                         [&](completion& c) { count(c, now); },
                         [&](drops& d) {
                           for (const auto& r : d.requests) result_.dropped += is_measured(arrival_of(r.id));
                         },
                     });
  }

  void on_time(time_point now) override {
    if (now < next_turn_) return;
    if (!began_ && now >= from_) began_ = cpu_now();
    if (result_.cpu == 0 && now >= until_) {
      const auto ended = cpu_now();
      result_.cpu = ended.all - began_->all;
      result_.kernel = ended.kernel - began_->kernel;
    }
    if (now >= until_ + slo_ + grace) {
      next_turn_ = never;
      done_.set_value(result_);
      return;
    }
    for (uint32_t m = 0; m < models_.size(); ++m) arrive(m, std::min(now, until_));
    next_turn_ = std::max(next_turn_ + frontend_turn, now);
  }

  time_point next_wakeup() const override { return next_turn_; }
  void report(std::vector<metric>&) const override {}

 private:
  struct stream {
    arrival_process process;
    time_point next;
    submit out;
  };

  void begin(time_point now) {
    start_ = next_turn_ = now;
    from_ = now + schedule_trial::warmup;
    until_ = from_ + schedule_trial::measured;
    for (uint32_t m = 0; m < options_.models; ++m) {
      const arrival_spec spec{arrival_kind::poisson, rate_ / options_.models, 1};
      models_.push_back({arrival_process(spec, now, random_stream(options_.seed, "arrivals", m)), now, {}});
      models_.back().next = models_.back().process.next();
    }
  }

  void arrive(uint32_t m, time_point until) {
    auto& s = models_[m];
    while (s.next < until) {
      request r;
      r.id = request_id{static_cast<uint64_t>((s.next - start_).count()) << 16 | m};
      r.model = model_id{m};
      r.gateway = self_;
      r.arrival = s.next;
      r.deadline = s.next + slo_;
      s.out.requests.push_back(r);
      result_.offered += is_measured(s.next);
      s.next = std::max(s.process.next(), s.next + 1ns);
    }
    if (s.out.requests.empty()) return;
    const auto n = s.out.requests.size();
    send(named(role::model_queue, m), std::move(s.out));
    s.out = {};
    s.out.requests.reserve(n + n / 2);
  }

  void count(const completion& c, time_point now) {
    ++result_.batches;
    result_.rows += c.batch_rows;
    result_.grant_behind.add(c.times.ordered_at - (c.times.planned_at - hop));
    for (const auto& r : c.results) {
      const auto arrival = arrival_of(r.id);
      if (!is_measured(arrival)) continue;
      result_.admit_to_grant.add(c.times.ordered_at - arrival);
      if (r.error == failure::none && now <= arrival + slo_)
        ++result_.good;
      else
        ++result_.late;
    }
  }

  time_point arrival_of(request_id id) const {
    return start_ + duration{static_cast<int64_t>(id.value >> 16)};
  }
  bool is_measured(time_point arrival) const { return arrival >= from_ && arrival < until_; }

  const bench_schedule_options options_;
  const duration slo_;
  const double rate_;
  std::promise<schedule_trial> done_;
  std::vector<stream> models_;
  time_point start_ = never, from_ = never, until_ = never, next_turn_ = never;
  std::optional<cpu_used> began_;
  schedule_trial result_;
};

/// A cluster in one process: one thread has the scheduler, another the clients and the GPUs.
class world {
 public:
  world(caf::actor_system& system, const bench_schedule_options& o, double rate, stage_clock* times)
      : office_(self) {
    std::promise<schedule_trial> done;
    result_ = done.get_future();
    if (times != nullptr) timed_office_.emplace(office_, *times);
    carrier& beyond = timed_office_ ? static_cast<carrier&>(*timed_office_) : office_;
    auto outside = std::make_unique<shell_group>(beyond);
    std::vector<std::unique_ptr<shell_group>> schedulers;  // a thread for each domain
    for (uint32_t d = 0; d < o.domains; ++d) schedulers.push_back(std::make_unique<shell_group>(beyond));
    std::vector<uint32_t> slot_domains;
    for (uint32_t i = 0; i < o.gpus; ++i) slot_domains.push_back(i % o.domains);
    const auto add = [times]<class Shell>(shell_group& group, stage s, address name, auto&&... args) {
      if (times == nullptr)
        group.add<Shell>(name, std::forward<decltype(args)>(args)...);
      else
        group.add<timed_shell<Shell>>(name, *times, s, std::forward<decltype(args)>(args)...);
    };
    add.template operator()<open_loop>(*outside, stage::clients, named(role::gateway), o, rate,
                                       std::move(done));

    const latency_model latency{from_ms(o.alpha_ms), from_ms(o.beta_ms)};
    model_source source;
    source.name = "model";
    source.signature = {{{"in", data_type::fp32, {0}}}, {{"out", data_type::fp32, {0}}}};
    source.latency = latency;
    slot_ready ready;
    for (uint32_t m = 0; m < o.models; ++m)
      ready.models.push_back({model_id{m}, latency.alpha, latency.beta, 1024, source.signature});
    for (uint32_t i = 0; i < o.gpus; ++i) {
      devices_.push_back(std::make_unique<emulated_device>());
      for (uint32_t m = 0; m < o.models; ++m) devices_[i]->load(model_id{m}, source);
      add.template operator()<gpu_worker>(*outside, stage::gpu_worker, named(role::gpu_worker, i),
                                          gpu_worker::options{slot_id{i}, slot_domains[i]}, *devices_[i],
                                          memory_);
    }

    for (uint32_t d = 0; d < o.domains; ++d) {
      auto matchmaking = make_matchmaking("lowest_id");
      if (times) matchmaking = std::make_unique<timed_matchmaking>(std::move(matchmaking), *times);
      const rank_arbiter::options options{{{}, o.domains > 1 ? slot_domains : std::vector<uint32_t>{}},
                                          o.decision_log};
      add.template operator()<rank_arbiter>(*schedulers[d], stage::rank_arbiter, named(role::rank_arbiter, d),
                                            std::move(matchmaking), options);
    }
    batching_parameters p;
    p.latency = latency;
    p.network = {hop, {}};
    p.slo = from_ms(o.slo_ms);
    p.response = response + margin;
    p.slots = o.gpus / o.domains;
    for (uint32_t m = 0; m < o.models; ++m) {
      model_queue::options q;
      q.model = model_id{m};
      q.arbiter = named(role::rank_arbiter, m % o.domains);
      q.slot_domains = slot_domains;
      q.reign = epoch{1};
      q.network = p.network;
      q.margin = margin;
      q.max_queued_rows = 1u << 20;
      q.latency_given = true;
      q.decision_log = o.decision_log;
      auto batching = make_batching(o.batching, "window", p);
      if (times) batching = std::make_unique<timed_batching>(std::move(batching), *times);
      add.template operator()<model_queue>(*schedulers[m % o.domains], stage::model_queue,
                                           named(role::model_queue, m), q, std::move(batching));
    }

    schedulers.insert(schedulers.begin(), std::move(outside));
    for (auto& group : schedulers) {
      const auto actors = group->names();
      office_.add_host(spawn_threaded_host(system, std::move(group), clock_, timing, {}), actors);
    }
    for (uint32_t i = 0; i < o.gpus; ++i) {
      ready.slot = slot_id{i};
      ready.worker = named(role::gpu_worker, i);
      office_.tell_all(ready);
    }
    settle(o.domains);
    if (times != nullptr) times->reset();
    office_.tell(named(role::gateway), node_up{self, life});
  }
  ~world() {
    caf::scoped_actor waiting{system_of(office_.hosts().front())};
    for (const auto& host : office_.hosts()) {
      caf::anon_send_exit(host, caf::exit_reason::kill);
      waiting->wait_for(host);
    }
  }
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  schedule_trial wait() { return result_.get(); }

 private:
  /// Until all know all slots: with many models on many GPUs that takes longer than the warm-up.
  void settle(uint32_t domains) {
    std::vector<address> one_of_each_host{named(role::gateway)};
    for (uint32_t d = 0; d < domains; ++d) one_of_each_host.push_back(named(role::rank_arbiter, d));
    for (const auto& actor : one_of_each_host) {
      std::promise<void> knows;
      office_.ask(actor, {0, "get_state", {}}, [&](const command_reply&) { knows.set_value(); });
      knows.get_future().wait();
    }
  }

  static caf::actor_system& system_of(const caf::actor& a) { return a->home_system(); }

  const machine_clock clock_;
  no_memory memory_;
  std::vector<std::unique_ptr<emulated_device>> devices_;
  std::future<schedule_trial> result_;
  post_office office_;
  std::optional<timed_carrier> timed_office_;
};

}  // namespace

double schedule_trial::bad_rate() const {
  return 1 - static_cast<double>(good) / static_cast<double>(std::max<uint64_t>(1, offered));
}
double schedule_trial::mean_batch() const {
  return static_cast<double>(rows) / static_cast<double>(std::max<uint64_t>(1, batches));
}

schedule_trial run_schedule_trial(caf::actor_system& system, const bench_schedule_options& options,
                                  double requests_per_second, stage_clock* times) {
  return world(system, options, requests_per_second, times).wait();
}

}  // namespace troupe
