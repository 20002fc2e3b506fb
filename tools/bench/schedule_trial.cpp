#include "tools/bench/schedule_trial.hpp"

#include <algorithm>
#include <caf/all.hpp>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "actors/runtime/caf_host.hpp"
#include "actors/runtime/null_memory_port.hpp"
#include "actors/runtime/post.hpp"
#include "actors/tensor/gpu_worker.hpp"
#include "actors/tensor/model_queue.hpp"
#include "actors/tensor/rank_arbiter.hpp"
#include "gpu/device/emulated_device.hpp"
#include "policies/registry/batchings.hpp"
#include "policies/registry/matchmakings.hpp"
#include "tools/bench/schedule_clients.hpp"
#include "tools/bench/single_node.hpp"

namespace troupe {
namespace {

/// Slack for threads that wake late: from a decision to its order, to the start, and to the answer. It costs
/// little: a batch that is 5 % smaller is 0.3 % less efficient.
constexpr duration time_to_hop = 500us, time_to_start = 2ms, time_to_answer = 3ms;
constexpr caf_host_timing prompt_timing{0us, 0us, 100us};

/// The actor group of one thread, with timing if `timed`.
class thread_group {
 public:
  thread_group(message_sink& beyond, bool timed)
      : clock_(timed ? std::make_unique<stage_clock>() : nullptr),
        counted_(timed ? std::make_unique<timed_message_sink>(beyond, *clock_) : nullptr),
        group_(std::make_unique<actor_group>(timed ? *counted_ : beyond)) {}

  template <class Actor, class... Args>
  void add(stage s, address name, Args&&... args) {
    if (clock_ == nullptr)
      group_->add<Actor>(name, std::forward<Args>(args)...);
    else
      group_->add<timed_actor<Actor>>(name, *clock_, s, std::forward<Args>(args)...);
  }
  template <class Timed, class Policy>
  std::unique_ptr<Policy> counted(std::unique_ptr<Policy> policy) {
    if (clock_ == nullptr) return policy;
    return std::make_unique<Timed>(std::move(policy), *clock_);
  }

  /// Hands the group over to its host.
  std::unique_ptr<actor_group> leave() { return std::move(group_); }
  stage_clock* clock() { return clock_.get(); }

 private:
  std::unique_ptr<stage_clock> clock_;
  std::unique_ptr<timed_message_sink> counted_;
  std::unique_ptr<actor_group> group_;
};

/// A cluster in one process. Each thread runs a domain, with the clients of its models and its GPUs. With one
/// thread more than domains, the last one runs all clients and GPUs.
class trial_cluster {
 public:
  trial_cluster(caf::actor_system& system, const bench_schedule_options& o, double rate, bool timed)
      : options_(o), post_(single_node) {
    for (uint32_t i = 0; i < o.threads; ++i) thread_groups_.emplace_back(post_, timed);
    for (uint32_t i = 0; i < o.gpus; ++i) slot_domains_.push_back(i % o.domains);
    add_clients(rate);
    add_workers();
    add_scheduler();
    for (auto& c : thread_groups_) {
      auto group = c.leave();
      const auto actors = group->names();
      post_.add_caf_host(spawn_threaded_caf_host(system, std::move(group), clock_, prompt_timing, {}),
                         actors);
    }
    open_slots();
    settle();
    for (auto& c : thread_groups_)
      if (timed) c.clock()->reset();
    post_.broadcast(node_up{single_node, single_life});
  }
  ~trial_cluster() { stop(); }
  trial_cluster(const trial_cluster&) = delete;
  trial_cluster& operator=(const trial_cluster&) = delete;

  schedule_trial run() {
    schedule_trial all;
    for (auto& r : results_) all.merge(r.get());
    stop();  // the clocks belong to the threads
    for (auto& c : thread_groups_)
      for (size_t s = 0; c.clock() != nullptr && s < stage_count; ++s)
        all.stages[s] += c.clock()->of(static_cast<stage>(s));
    return all;
  }

 private:
  bool clients_apart() const { return options_.threads > options_.domains; }
  thread_group& scheduling(uint32_t domain) { return thread_groups_[domain]; }
  thread_group& serving(uint32_t domain) {
    return clients_apart() ? thread_groups_.back() : thread_groups_[domain];
  }

  void add_clients(double rate) {
    const uint32_t gateways = clients_apart() ? 1 : options_.domains;
    for (uint32_t g = 0; g < gateways; ++g) {
      schedule_clients::options c;
      for (uint32_t m = g; m < options_.models; m += gateways) c.models.push_back(model_id{m});
      c.rate_of_model = rate / options_.models;
      c.seed = options_.seed;
      c.slo = from_ms(options_.slo_ms);
      c.hop = time_to_hop;
      std::promise<schedule_trial> done;
      results_.push_back(done.get_future());
      serving(g).add<schedule_clients>(stage::clients, actor_here(role::gateway, g), std::move(c),
                                       std::move(done));
    }
  }

  void add_workers() {
    model_source source;
    source.name = "model";
    source.signature = {{{"in", data_type::fp32, {0}}}, {{"out", data_type::fp32, {0}}}};
    source.latency = latency_;
    for (uint32_t m = 0; m < options_.models; ++m)
      ready_.models.push_back({model_id{m}, latency_.alpha, latency_.beta, 1024, source.signature});
    for (uint32_t i = 0; i < options_.gpus; ++i) {
      devices_.push_back(std::make_unique<emulated_device>());
      for (uint32_t m = 0; m < options_.models; ++m) devices_[i]->load(model_id{m}, source);
      serving(slot_domains_[i])
          .add<gpu_worker>(stage::gpu_worker, actor_here(role::gpu_worker, i),
                           gpu_worker::options{slot_id{i}, slot_domains_[i]}, *devices_[i], memory_);
    }
  }

  void add_scheduler() {
    for (uint32_t d = 0; d < options_.domains; ++d) {
      auto matchmaking = scheduling(d).counted<timed_matchmaking>(make_matchmaking("lowest_id"));
      const rank_arbiter::options a{{{}, options_.domains > 1 ? slot_domains_ : std::vector<uint32_t>{}},
                                    options_.decision_log};
      scheduling(d).add<rank_arbiter>(stage::rank_arbiter, actor_here(role::rank_arbiter, d),
                                      std::move(matchmaking), a);
    }
    batching_parameters p;
    p.latency = latency_;
    p.network = {time_to_hop, {}};
    p.slo = from_ms(options_.slo_ms);
    p.response = time_to_answer + time_to_start;
    p.slots = options_.gpus / options_.domains;
    for (uint32_t m = 0; m < options_.models; ++m) {
      const auto d = m % options_.domains;
      model_queue::options q;
      q.model = model_id{m};
      q.arbiter = actor_here(role::rank_arbiter, d);
      q.slot_domains = slot_domains_;
      q.term = term_id{1};
      q.network = p.network;
      q.margin = time_to_start;
      q.max_queued_rows = 1u << 20;
      q.latency_given = true;
      q.decision_log = options_.decision_log;
      auto batching = scheduling(d).counted<timed_batching>(make_batching(options_.batching, "window", p));
      scheduling(d).add<model_queue>(stage::model_queue, actor_here(role::model_queue, m), q,
                                     std::move(batching));
    }
  }

  void open_slots() {
    for (uint32_t i = 0; i < options_.gpus; ++i) {
      ready_.slot = slot_id{i};
      ready_.worker = actor_here(role::gpu_worker, i);
      post_.broadcast(ready_);
    }
  }

  /// Waits until all actors know all slots: with many models on many GPUs that takes longer than the warm-up.
  void settle() {
    std::vector<address> one_of_each_caf_host{actor_here(role::gateway)};
    for (uint32_t d = 0; d < options_.domains; ++d)
      one_of_each_caf_host.push_back(actor_here(role::rank_arbiter, d));
    for (const auto& actor : one_of_each_caf_host) {
      std::promise<void> knows;
      post_.ask(actor, {0, "get_state", {}}, [&](const command_reply&) { knows.set_value(); });
      knows.get_future().wait();
    }
  }

  void stop() {
    if (std::exchange(stopped_, true)) return;
    caf::scoped_actor waiting{post_.caf_hosts().front()->home_system()};
    for (const auto& caf_host : post_.caf_hosts()) {
      caf::anon_send_exit(caf_host, caf::exit_reason::kill);
      waiting->wait_for(caf_host);
    }
  }

  const bench_schedule_options options_;
  const latency_model latency_{from_ms(options_.alpha_ms), from_ms(options_.beta_ms)};
  const machine_clock clock_;
  null_memory_port memory_;
  slot_ready ready_;
  std::vector<uint32_t> slot_domains_;
  std::vector<std::unique_ptr<emulated_device>> devices_;
  std::vector<std::future<schedule_trial>> results_;  // one for each gateway
  troupe::post post_;
  std::deque<thread_group> thread_groups_;  // one for each thread
  bool stopped_ = false;
};

}  // namespace

void schedule_trial::merge(const schedule_trial& other) {
  offered += other.offered;
  good += other.good;
  late += other.late;
  dropped += other.dropped;
  batches += other.batches;
  rows += other.rows;
  admit_to_grant.merge(other.admit_to_grant);
  grant_behind.merge(other.grant_behind);
  cpu = {std::max(cpu.all, other.cpu.all), std::max(cpu.kernel, other.cpu.kernel)};
}

double schedule_trial::bad_rate() const {
  return 1 - static_cast<double>(good) / static_cast<double>(std::max<uint64_t>(1, offered));
}
double schedule_trial::mean_batch() const {
  return static_cast<double>(rows) / static_cast<double>(std::max<uint64_t>(1, batches));
}

schedule_trial run_schedule_trial(caf::actor_system& system, const bench_schedule_options& options,
                                  double requests_per_second, bool timed) {
  return trial_cluster(system, options, requests_per_second, timed).run();
}

}  // namespace troupe
