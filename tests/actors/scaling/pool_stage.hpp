// A parameter pool with a small cluster that carries out its orders.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "actors/scaling/parameter_pool.hpp"
#include "messages/llm/generation.hpp"
#include "tests/actors/run_command.hpp"
#include "tests/actors/stage.hpp"

namespace troupe::test {

inline constexpr node_id pool_standby{5};
inline constexpr uint64_t pool_image_bytes = 100;
inline constexpr uint32_t pool_image_chunks = 8;

/// Model 0, "m", scales and has a place on each of the workers 1 to 4; model 1, "fixed", does not.
struct pool_parts {
  cluster_spec cluster;
  explicit pool_parts(bool standby) {
    for (const char* name : {"leader", "a", "b", "c", "d", "standby"}) {
      auto& n = cluster.nodes.emplace_back();
      n.name = name;
      n.roles = {node_role::worker};
    }
    cluster.nodes[0].roles = {node_role::scheduler};
    if (standby) cluster.nodes[pool_standby.value].roles = {node_role::standby};
    cluster.llms.resize(2);
    cluster.llms[0].name = "m";
    cluster.llms[0].scales = true;
    cluster.llms[0].instances = 2;
    cluster.llms[0].max_instances = 4;
    cluster.llms[1].name = "fixed";
    for (uint32_t n = 1; n <= 4; ++n) cluster.engines.push_back({llm_id{0}, node_id{n}});
    cluster.engines.push_back({llm_id{1}, node_id{1}});
  }
};

struct pool_stage : pool_parts, stage<parameter_pool> {
  explicit pool_stage(bool standby = false, uint64_t bytes = pool_image_bytes)
      : pool_parts(standby),
        stage({scheduler_node, {10}, role::parameter_pool, 0}, cluster, [bytes](llm_id) { return bytes; }) {
    run_until(at(1000));
  }

  // The cluster.

  struct worker {
    uint64_t incarnation = 0;
    instance_stage stage = instance_stage::idle;
    std::string problem;
    std::vector<image_state> images;
    uint64_t capacity = 1000;
    std::vector<peer_rate> rates = {};
    double disk_gbit_per_s = 0;
    instance_phase phase = instance_phase::both;
  };
  void lead(uint64_t its_term) {
    deliver(leadership{{its_term}, scheduler_node, {10}});
    term = its_term;
    for (const auto& [n, _] : std::map(workers)) report(n);
  }
  /// The pool's node is up and, without a standby, leads.
  void start(std::initializer_list<uint32_t> nodes = {1, 2, 3, 4}) {
    deliver(node_up{scheduler_node, {10}});
    for (const auto n : nodes) bring_up(n);
  }
  void bring_up(uint32_t n) {
    auto& w = workers[n] = {};
    w.incarnation = ++last_incarnation;
    deliver(node_up{node_id{n}, {w.incarnation}});
    report(n);
  }
  void kill(uint32_t n) {
    const auto was = workers.at(n).incarnation;
    workers.erase(n);
    deliver(node_down{node_id{n}, {was}});
  }
  void report(uint32_t n) {
    const auto& w = workers.at(n);
    engine_status s;
    s.engine = {n - 1};
    s.stage = w.stage;
    s.ready = w.stage == instance_stage::serving;
    s.problem = w.problem;
    s.phase = w.phase;
    note(s, {node_id{n}, {w.incarnation}, role::llm_engine, n - 1});
    deliver(shard_inventory{{n}, w.capacity, w.images, {term}, w.rates, w.disk_gbit_per_s},
            {node_id{n}, {w.incarnation}, role::parameter_shard, 0});
  }
  /// Gives a worker images and a stage, and reports them.
  void set(uint32_t n, instance_stage to, uint32_t ready = pool_image_chunks) {
    auto& w = workers.at(n);
    w.stage = to;
    w.images = {{{0}, pool_image_chunks, ready, false, {}, pool_image_bytes, 0, 0}};
    report(n);
  }
  image_state* image(uint32_t n) {
    const auto w = workers.find(n);
    return w == workers.end() || w->second.images.empty() ? nullptr : &w->second.images[0];
  }

  // What the pool has ordered since the last look, 20 ms later. Workers do nothing.

  /// "b<a": from a to b; "a<a": from the checkpoint; "-a": dropped; "1:serving": an engine's stage.
  std::string orders() {
    run_until(now + 20ms);
    std::string all;
    const auto add = [&](const std::string& o) { all += (all.empty() ? "" : " ") + o; };
    const auto name = [&](node_id n) { return cluster.nodes[n.value].name; };
    for (const auto& [to, o] : out.take_addressed<place_copy>()) add(name(to.node) + "<" + name(o.from));
    for (const auto& [to, o] : out.take_addressed<drop_copy>()) add("-" + name(to.node));
    for (const auto& [to, o] : out.take_addressed<set_stage>())
      add(std::to_string(o.engine.value) + ":" + std::string(to_string(o.to)));
    return all;
  }
  /// Time passes, in which workers carry out orders. Returns them.
  std::string run(duration time) {
    std::string all;
    const auto add = [&](const std::string& o) { all += (all.empty() ? "" : " ") + o; };
    for (const auto end = now + time; now < end;) {
      run_until(now + 50ms);
      const auto places = out.take_addressed<place_copy>();
      const auto drops = out.take_addressed<drop_copy>();
      const auto stages = out.take_addressed<set_stage>();
      for (const auto& [to, o] : out.take_addressed<set_phase>()) {
        add(std::to_string(o.engine.value) + ":" + std::string(to_string(o.to)));
        if (workers.contains(to.node.value)) workers[to.node.value].phase = o.to;
      }
      for (const auto& [to, o] : places) {
        add(cluster.nodes[to.node.value].name + "<" + cluster.nodes[o.from.value].name);
        if (!workers.contains(to.node.value)) continue;
        auto& images = workers[to.node.value].images;
        if (images.empty() || !images[0].problem.empty())
          images.assign(1, {{0}, pool_image_chunks, 0, true, o.from, pool_image_bytes, 0, 0});
        images[0].filling = true, images[0].from = o.from;
        if (!place_problem.empty()) images[0] = {{0}, 0, 0, false, {}, 0, 0, 0, place_problem};
      }
      for (const auto& [to, o] : drops) {
        add("-" + cluster.nodes[to.node.value].name);
        workers[to.node.value].images.clear();
      }
      for (const auto& [to, o] : stages) {
        add(std::to_string(o.engine.value) + ":" + std::string(to_string(o.to)));
        if (workers.contains(to.node.value)) go_to(workers[to.node.value], o.to);
      }
      fill_images();
      for (const auto& [n, _] : std::map(workers)) report(n);
    }
    return all;
  }
  /// Of workers that serve.
  uint32_t in_phase(instance_phase p) const {
    return static_cast<uint32_t>(std::ranges::count_if(workers, [p](const auto& w) {
      return w.second.stage == instance_stage::serving && w.second.phase == p;
    }));
  }
  uint32_t serving() const {
    return static_cast<uint32_t>(std::ranges::count_if(
        workers, [](const auto& w) { return w.second.stage == instance_stage::serving; }));
  }

  parameter_pool_state state() { return run_command<parameter_pool_state>(*this, get_state{}); }
  scaling_plan scale(uint32_t instances, bool dry_run = false, uint32_t prefill = 0) {
    const auto p = run_command<scaling_plan>(*this, scale_model{"m", instances, dry_run, prefill});
    actor.on_time(now);
    return p;
  }
  std::string refusal(const std::string& model, uint32_t instances, uint32_t prefill = 0) {
    const auto r = actor.on_command(
        {1, "scale_model", to_json(scale_model{model, instances, false, prefill}).dump()}, now);
    CHECK_FALSE(r.ok);
    return r.body;
  }

  std::map<uint32_t, worker> workers;
  std::string place_problem;  ///< of every place from now on
  uint64_t last_incarnation = 100;
  uint64_t term = 0;  ///< known to the shards

 private:
  static void go_to(worker& w, instance_stage to) {
    using enum instance_stage;
    if (to == serving)
      w.stage = w.stage == idle ? loading : w.stage == loading ? loading : serving;
    else if (w.stage == loading)
      w.stage = idle;
    else if (w.stage != idle)
      w.stage = to;
  }
  void fill_images() {
    for (auto& [n, w] : workers)
      for (auto& i : w.images) {
        const auto* from = i.from.value == n ? nullptr : image(i.from.value);
        if (i.filling && i.from.value != n && from == nullptr) i.filling = false;
        if (i.filling) i.ready = std::min(i.ready + 3, from == nullptr ? i.chunks : from->ready);
        if (i.complete()) i.filling = false;
        if (i.complete() && w.stage == instance_stage::loading) w.stage = instance_stage::serving;
      }
  }
};

}  // namespace troupe::test
