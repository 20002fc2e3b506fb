// An engine on a scripted device. Its tokens depend on all inputs of the step.
#pragma once
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "actors/llm/engine.hpp"
#include "tests/actors/run_command.hpp"
#include "tests/actors/stage.hpp"

namespace troupe::test {

/// Chooses the sum of the row's token, its position and its adapter. Steps and loads end when the test ends
/// them. `steps_ahead` counts from the next load on.
class scripted_engine_device : public llm::engine_device {
 public:
  static constexpr uint64_t block_bytes = 32;
  void load() override { ++loads; }
  void unload() override {
    CHECK(!running);
    CHECK(reading.empty());
    ++unloads;
    events_.clear(), loading.clear(), here.clear();
  }
  void start(const llm::llm_step& step, std::span<const llm::token_sampling> samplings,
             const llm::layer_range& layers) override {
    CHECK((!running || steps_ahead > 0));
    CHECK(!next);
    CHECK(layers.first == 0);
    CHECK(layers.x == nullptr);
    CHECK(samplings.size() == step.sampled.size());
    for (const auto a : step.segment_adapters) CHECK((a == llm::base_model || here.contains(a)));
    (running ? next : running) = step;
    ++steps;
  }
  bool poll(time_point, llm::engine_event& out) override {
    if (events_.empty()) return false;
    out = std::move(events_.front());
    events_.pop_front();
    return true;
  }
  void read_adapter(llm::adapter_id id, const std::string& folder) override { reading[id] = folder; }
  void load_adapter(llm::adapter_id id, const std::string& folder) override {
    CHECK(!here.contains(id));
    loading[id] = folder;
  }
  void unload_adapter(llm::adapter_id id) override {
    CHECK(here.erase(id) == 1);
    for (const auto& s : {running, next})
      if (s) CHECK(std::ranges::count(s->segment_adapters, id) == 0);
  }
  llm::kv_cache_memory kv_memory() override { return kv; }
  void on_kv_written(std::span<const uint32_t> blocks) override {
    written.insert(written.end(), blocks.begin(), blocks.end());
  }
  void stop() override { running.reset(), next.reset(); }

  void deliver(llm::engine_event e) { events_.push_back(std::move(e)); }
  static llm::engine_facts facts(uint32_t blocks) {
    llm::engine_facts f;
    f.vocabulary = 1000;
    f.max_positions = 100;
    f.blocks = blocks;
    f.block_tokens = 4;
    f.block_bytes = block_bytes;
    f.layers = 3;
    return f;
  }
  void report_loaded(uint32_t blocks = 64) {
    llm::engine_event e;
    e.facts = facts(blocks);
    e.facts.layers_ready = e.facts.layers;
    e.facts.steps_ahead = steps_ahead;
    e.facts.longest_step = longest_step;
    deliver(e);
  }
  void end_step(duration took = {}) {
    REQUIRE(running);
    llm::engine_event e;
    e.what = llm::engine_event::kind::step_done;
    e.took = took;
    for (const auto row : running->sampled) {
      size_t segment = 0;
      while (running->segment_end[segment + 1] <= row) ++segment;
      const auto given = running->tokens[row];
      const auto value = (llm::is_chosen_before(given) ? chosen_.at(llm::entry_before(given)) : given) +
                         static_cast<int>(running->positions[row]) +
                         static_cast<int>(running->segment_adapters[segment].value);
      e.chosen.push_back({value % 1000, -1, {}, true});
    }
    chosen_.clear();
    for (const auto& c : e.chosen) chosen_.push_back(c.which);
    running = std::exchange(next, {});
    deliver(e);
  }
  void fail_step(const char* problem) {
    running.reset(), next.reset();
    llm::engine_event bad;
    bad.what = llm::engine_event::kind::step_failed;
    bad.problem = problem;
    deliver(bad);
  }
  void end_load(llm::adapter_id id) {
    REQUIRE(loading.erase(id) == 1);
    here.insert(id);
    llm::engine_event e;
    e.what = llm::engine_event::kind::adapter_ready;
    e.adapter = id;
    e.took = 3ms;
    e.bytes = 10;
    deliver(e);
  }

  void end_read(llm::adapter_id id) {
    REQUIRE(reading.erase(id) == 1);
    llm::engine_event e;
    e.what = llm::engine_event::kind::adapter_read;
    e.adapter = id;
    deliver(e);
  }

  std::optional<llm::llm_step> running, next;
  llm::kv_cache_memory kv;        ///< none at first
  std::vector<uint32_t> written;  ///< blocks
  uint32_t loads = 0, unloads = 0;
  uint32_t steps_ahead = 0;
  duration longest_step{};
  uint64_t steps = 0;
  std::map<llm::adapter_id, std::string> loading, reading;
  std::set<llm::adapter_id> here;

 private:
  std::deque<llm::engine_event> events_;
  std::vector<llm::token> chosen_;  // by the last step
};

inline constexpr address the_llm_gateway{gateway_node, {11}, role::llm_gateway, 0};
inline constexpr address the_engine{worker_node, {12}, role::llm_engine, 0};
inline constexpr address the_router{scheduler_node, {10}, role::llm_router, 0};
inline constexpr node_id other_node{3};  // has an engine, too

struct engine_parts {
  scripted_engine_device device;
  scripted_memory memory{worker_node};
};

struct engine_stage : engine_parts, stage<llm_engine> {
  explicit engine_stage(llm_engine::options o = options()) : stage(the_engine, o, device, memory) {}
  static llm_engine::options options() {
    llm_engine::options o;
    o.name = "m";
    o.gateways = {gateway_node};
    o.routers = {scheduler_node};
    o.adapter_slots = 2;
    o.max_sequences = 4;
    o.max_waiting = 8;
    for (const char* name : {"a", "b", "c"}) o.adapters.push_back({name, std::string("/") + name});
    return o;
  }
  void load() {
    device.report_loaded();
    wake();
  }
  void wake() { deliver(device_ready{}); }
  void step(duration took = {}) {
    now += took;
    device.end_step(took);
    wake();
  }
  static generation request(uint64_t id, std::string adapter = {}, uint32_t tokens = 3) {
    generation g;
    g.id = request_id{id};
    g.gateway = the_llm_gateway;
    g.adapter = std::move(adapter);
    g.prompt = {5, 6};
    g.max_tokens = tokens;
    return g;
  }
  void ask(generation g) { deliver(generate{{std::move(g)}}, the_llm_gateway); }
  std::vector<generated_token> tokens() {
    std::vector<generated_token> all;
    for (auto& g : out.take<generated>())
      for (auto& t : g.tokens) all.push_back(std::move(t));
    return all;
  }
  llm_engine_state state() { return run_command<llm_engine_state>(*this, get_state{}); }
};

}  // namespace troupe::test
