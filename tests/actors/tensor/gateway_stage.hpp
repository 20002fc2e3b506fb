// A gateway with its clients, and the memory of itself and of a worker.
#pragma once
#include <algorithm>
#include <map>
#include <vector>

#include "actors/tensor/gateway.hpp"
#include "tests/actors/stage.hpp"

namespace troupe::test {

struct recorded_outcome : outcome {
  explicit recorded_outcome(const outcome& o) : outcome(o), bytes(o.output.begin(), o.output.end()) {}
  std::vector<std::byte> bytes;
};

struct gateway_parts : client_port {
  explicit gateway_parts(const std::vector<tenant_quota>& quotas) : limiter(quotas) {}
  void answer(request_id id, const outcome& how, std::vector<std::byte> pulled) override {
    CHECK(answers.emplace(id, how).second);  // once
    const auto* begin = pulled.data();
    if (!how.output.empty())
      CHECK((how.output.data() >= begin && how.output.data() + how.output.size() <= begin + pulled.size()));
  }
  uint64_t unwritten_bytes() const override { return unwritten; }
  std::map<request_id, recorded_outcome> answers;
  uint64_t unwritten = 0;
  scripted_memory memory{gateway_node};
  scripted_memory far{worker_node};  // where the outputs are
  tenant_limiter limiter;
};

struct gateway_stage : gateway_parts, stage<gateway> {
  explicit gateway_stage(size_t max_in_flight = 100) : gateway_stage(options(max_in_flight)) {}
  explicit gateway_stage(const gateway::options& o, const std::vector<tenant_quota>& quotas = {})
      : gateway_parts{quotas}, stage(the_gateway, o, memory, static_cast<client_port&>(*this), limiter) {
    deliver(node_up{scheduler_node, {10}});
  }
  static gateway::options options(size_t max_in_flight) {
    gateway::options o;
    o.drain_timeout = 7s;
    o.models = {"m"};
    o.scheduler = scheduler_node;
    o.max_in_flight = max_in_flight;
    o.timeout = 50ms;
    return o;
  }
  client_request ask(uint64_t id) {
    client_request c;
    c.asked.id = request_id{id};
    c.asked.arrival = now;
    c.asked.deadline = now + 12ms;
    c.asked.input = memory.take(4)->region;
    return c;
  }
  void arrive(uint64_t id) { deliver(ask(id)); }

  result result_of(uint64_t id) {
    const auto output = far.take(8);
    std::ranges::fill(output->payload, static_cast<std::byte>(id));
    return {request_id{id}, 1, failure::none, output->region, {}};
  }
  void complete(uint64_t id) { deliver(completion{{1}, 3, {result_of(id)}}, worker_of(0)); }
  void fail(uint64_t id, failure why) {
    deliver(completion{{1}, 3, {{request_id{id}, 1, why, {}, {}}}}, worker_of(0));
  }
  void drop(uint64_t id, drop_reason why) { deliver(drops{{{request_id{id}, 1, why}}}, the_queue); }
  void end_pull(pull_status status = pull_status::ok) { deliver(memory.end_pull(far, status)); }
  /// Releases the outputs at the worker.
  void apply_releases() {
    for (const auto& [to, r] : out.take_addressed<release>()) {
      CHECK(to == worker_of(0));
      for (const auto& region : r.regions) far.give_back(region);
    }
  }
  const recorded_outcome& outcome_of(uint64_t id) const {
    REQUIRE(answers.contains(request_id{id}));
    return answers.at(request_id{id});
  }
  bool open(uint64_t id) const { return !answers.contains(request_id{id}); }
  void check_clean() {
    apply_releases();
    CHECK(actor.balanced());
    CHECK(actor.unfinished() == 0);
    CHECK(memory.in_use() == 0);
    CHECK(far.in_use() == 0);
  }
};

}  // namespace troupe::test
