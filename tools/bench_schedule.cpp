#include "tools/bench_schedule.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <caf/all.hpp>
#include <cmath>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "actors/gpu_worker.hpp"
#include "actors/host.hpp"
#include "actors/model_queue.hpp"
#include "actors/post_office.hpp"
#include "actors/rank_arbiter.hpp"
#include "gpu/emulated_device.hpp"
#include "policies/arrivals.hpp"

namespace troupe {
namespace {

constexpr node_id self{0};
constexpr incarnation life{1};
constexpr double bad_rate_allowed = 0.01;
constexpr int trials = 10;
constexpr duration warmup = 1s, measured = 2500ms, grace = 100ms;
/// Arrivals reach the scheduler in the turns of their frontend, which come this far apart.
constexpr duration frontend_turn = 250us;
/// Left free for threads that wake late: from a decision to its order, to start, and to answer. It costs
/// little: a batch that is 5 % smaller is 0.3 % less efficient.
constexpr duration hop = 500us, margin = 2ms, response = 3ms;
constexpr duration spin = 0us;
/// Symphony's published code, everything included: 0.31–0.36 million.
constexpr double symphony_per_cpu_second = 0.36e6;

address named(role kind, uint32_t index = 0) { return {self, life, kind, index}; }

double cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

struct trial {
  uint64_t offered = 0, good = 0, late = 0, dropped = 0;  ///< of the requests that arrived while it measured
  uint64_t batches = 0, rows = 0;
  double cpu = 0;  ///< seconds

  double bad_rate() const {
    return 1 - static_cast<double>(good) / static_cast<double>(std::max<uint64_t>(1, offered));
  }
  double mean_batch() const {
    return static_cast<double>(rows) / static_cast<double>(std::max<uint64_t>(1, batches));
  }
};

/// All clients and their gateway: sends what has arrived since its last turn, counts what comes back. The id
/// of a request says when it arrived and for which model, so that nothing is kept for it.
class open_loop final : public shell {
 public:
  open_loop(address me, outbox& out, const bench_schedule_options& o, double rate, std::promise<trial> done)
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
    if (cpu_at_start_ == 0 && now >= from_) cpu_at_start_ = cpu_seconds();
    if (result_.cpu == 0 && now >= until_) result_.cpu = cpu_seconds() - cpu_at_start_;
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
    from_ = now + warmup;
    until_ = from_ + measured;
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
    for (const auto& r : c.results) {
      const auto arrival = arrival_of(r.id);
      if (!is_measured(arrival)) continue;
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
  std::promise<trial> done_;
  std::vector<stream> models_;
  time_point start_ = never, from_ = never, until_ = never, next_turn_ = never;
  double cpu_at_start_ = 0;
  trial result_;
};

/// Requests without bytes need none.
class no_memory final : public memory_port {
 public:
  std::optional<offer> take(uint64_t) override { return {}; }
  void give_back(const region_ref&) override {}
  std::vector<std::byte> pull_buffer(const region_ref&) const override { return {}; }
  void pull(const region_ref&, std::span<std::byte>, const address&, uint64_t) override {}
  std::optional<std::span<const std::byte>> verify(const region_ref&,
                                                   std::span<const std::byte>) const override {
    return {};
  }
};

/// A cluster in one process: one thread has the scheduler, another the clients and the GPUs.
class world {
 public:
  world(caf::actor_system& system, const bench_schedule_options& o, double rate) : office_(self) {
    std::promise<trial> done;
    result_ = done.get_future();
    auto outside = std::make_unique<shell_group>(office_);
    auto scheduler = std::make_unique<shell_group>(office_);
    outside->add<open_loop>(named(role::gateway), o, rate, std::move(done));

    const latency_model latency{from_ms(o.alpha_ms), from_ms(o.beta_ms)};
    model_source source;
    source.name = "model";
    source.signature = {{{"in", data_type::fp32, {0}}}, {{"out", data_type::fp32, {0}}}};
    source.latency = latency;
    slot_ready ready;
    for (uint32_t m = 0; m < o.models; ++m)
      ready.models.push_back({model_id{m}, latency.alpha, latency.beta, 1024, 0, 0, source.signature});
    for (uint32_t i = 0; i < o.gpus; ++i) {
      devices_.push_back(std::make_unique<emulated_device>());
      for (uint32_t m = 0; m < o.models; ++m) devices_[i]->load(model_id{m}, source);
      outside->add<gpu_worker>(named(role::gpu_worker, i), gpu_worker::options{slot_id{i}}, *devices_[i],
                               memory_);
    }

    scheduler->add<rank_arbiter>(named(role::rank_arbiter), make_matchmaking("lowest_id"));
    batching_parameters p;
    p.latency = latency;
    p.network = {hop, {}};
    p.slo = from_ms(o.slo_ms);
    p.response = response + margin;
    p.slots = o.gpus;
    for (uint32_t m = 0; m < o.models; ++m) {
      model_queue::options q;
      q.model = model_id{m};
      q.arbiter = named(role::rank_arbiter);
      q.reign = epoch{1};
      q.network = p.network;
      q.margin = margin;
      q.max_queued_rows = 1u << 20;
      q.latency_given = true;
      scheduler->add<model_queue>(named(role::model_queue, m), q, make_batching(o.batching, "window", p));
    }

    for (auto* group : {&outside, &scheduler}) {
      const auto actors = (*group)->names();
      office_.add_host(spawn_threaded_host(system, std::move(*group), clock_, spin, {}), actors);
    }
    for (uint32_t i = 0; i < o.gpus; ++i) {
      ready.slot = slot_id{i};
      ready.worker = named(role::gpu_worker, i);
      office_.tell_all(ready);
    }
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

  trial wait() { return result_.get(); }

 private:
  static caf::actor_system& system_of(const caf::actor& a) { return a->home_system(); }

  const machine_clock clock_;
  no_memory memory_;
  std::vector<std::unique_ptr<emulated_device>> devices_;
  std::future<trial> result_;
  post_office office_;
};

/// What the GPUs could do if batches of the largest size that meets the SLO followed each other without a
/// gap, evenly staggered: (1 + 1/N) ℓ(b) ≤ SLO gives N b / ℓ(b) requests a second.
struct staggered {
  double batch, rate;
};
staggered bound_of(const bench_schedule_options& o) {
  const double n = o.gpus;
  const double batch = std::floor((o.slo_ms / (1 + 1 / n) - o.beta_ms) / o.alpha_ms);
  return {batch, batch < 1 ? 0 : 1e3 * n * batch / (o.alpha_ms * batch + o.beta_ms)};
}

struct found {
  trial best;
  double rate = 0;
};

found search(caf::actor_system& system, const bench_schedule_options& o, double bound) {
  found f;
  double low = 0, high = 1.02 * bound;
  double rate = 0.9 * bound;
  for (int i = 0; i < trials && high - low > 0.004 * bound; ++i) {
    const auto t = world(system, o, rate).wait();
    if (t.bad_rate() <= bad_rate_allowed) {
      low = rate;
      f = {t, rate};
    } else {
      high = rate;
    }
    // Far from the bound something else than the GPUs limits: come down fast until a rate is served.
    rate = low == 0 ? 0.8 * high : (low + high) / 2;
  }
  return f;
}

void print(const bench_schedule_options& o, const found& f, const staggered& bound) {
  struct row {
    std::string name;
    double value;
    std::string unit;
    double reference;
  };
  const double per_second = static_cast<double>(f.best.good) / to_seconds(measured);
  const double per_cpu_second = static_cast<double>(f.best.good) / f.best.cpu;
  const row rows[] = {
      {"requests, against the staggered schedule", per_second, "1/s", bound.rate},
      {"batch size, against the staggered schedule", f.best.mean_batch(), "rows", bound.batch},
      {"requests a CPU second, against Symphony's code", per_cpu_second, "1/s", symphony_per_cpu_second},
  };
  if (o.json) {
    nlohmann::ordered_json doc{{"models", o.models},
                               {"gpus", o.gpus},
                               {"requests_per_s", per_second},
                               {"requests_per_cpu_s", per_cpu_second},
                               {"bad_rate", f.best.bad_rate()},
                               {"mean_batch", f.best.mean_batch()},
                               {"rows", nlohmann::ordered_json::array()}};
    for (const auto& r : rows)
      doc["rows"].push_back({{"name", r.name},
                             {"value", r.value},
                             {"unit", r.unit},
                             {"reference", r.reference},
                             {"ratio", r.value / r.reference}});
    fmt::print("{}\n", doc.dump(2));
    return;
  }
  fmt::print("{} models, {} GPUs: {:.0f} requests/s, {:.2f} % bad, {:.0f} requests per CPU second\n\n",
             o.models, o.gpus, per_second, 100 * f.best.bad_rate(), per_cpu_second);
  fmt::print("{:<48} {:>12} {:>5} {:>12} {:>6}\n", "", "value", "unit", "reference", "ratio");
  for (const auto& r : rows)
    fmt::print("{:<48} {:>12.1f} {:>5} {:>12.1f} {:>6.3f}\n", r.name, r.value, r.unit, r.reference,
               r.value / r.reference);
}

}  // namespace

int bench_schedule(const bench_schedule_options& o) {
  const auto complain = [](const std::string& what) {
    fmt::print(stderr, "bench schedule: {}\n", what);
    return 2;
  };
  if (o.models == 0 || o.models > 65535 || o.gpus == 0)
    return complain("needs 1-65535 models and 1 GPU or more");
  if (o.alpha_ms <= 0 || o.beta_ms < 0)
    return complain("--alpha-ms must be positive, --beta-ms not negative");
  if (make_batching(o.batching, "window", {}) == nullptr)
    return complain(
        fmt::format("unknown batching '{}'; known: {}", o.batching, fmt::join(batchings().names(), ", ")));
  const auto bound = bound_of(o);
  if (bound.rate == 0)
    return complain(fmt::format("no batch meets an SLO of {} ms: raise --slo-ms", o.slo_ms));

  caf::actor_system_config config;
  config.add_message_types<caf::id_block::troupe>();
  config.add_message_types<caf::id_block::troupe_actors>();
  config.set("scheduler.policy", caf::atom("sharing"));  // idle workers sleep
  config.set("scheduler.max-threads", 1u);
  config.set("logger.verbosity", caf::atom("quiet"));
  caf::actor_system system(config);
  const auto f = search(system, o, bound.rate);
  if (f.rate == 0) {
    fmt::print(stderr, "bench schedule: no rate had {} % of bad requests or fewer; is the machine busy?\n",
               100 * bad_rate_allowed);
    return 1;
  }
  print(o, f, bound);
  return 0;
}

}  // namespace troupe
