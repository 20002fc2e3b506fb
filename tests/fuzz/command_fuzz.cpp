// An actor answers any command with JSON or with a sentence, and refuses the commands that the check before
// sending refuses. Input: a byte that chooses the actor, then the command's name, a newline and its fields.
// The same text is also read as an actor's name, and as a console's request; if that is an order, its actor
// gets it.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "actors/operator/console_command.hpp"
#include "actors/runtime/null_memory_port.hpp"
#include "actors/tensor/gateway.hpp"
#include "actors/tensor/gpu_worker.hpp"
#include "actors/tensor/model_queue.hpp"
#include "actors/tensor/rank_arbiter.hpp"
#include "messages/commands/command_schema.hpp"
#include "policies/registry/batchings.hpp"
#include "policies/registry/matchmakings.hpp"

namespace {

using namespace troupe;

void require(bool ok) {
  if (!ok) std::abort();
}

struct nowhere final : outbox {
  void send(const address&, const address&, actor_message) override {}
};

constexpr time_point now{1h};

constexpr address a_queue{node_id{0}, {1}, role::model_queue, 0};
constexpr address a_gateway{node_id{0}, {1}, role::gateway, 0};

request some_request(uint64_t id) {
  request r;
  r.id = request_id{id};
  r.gateway = a_gateway;
  r.arrival = now;
  r.deadline = now + 20ms;
  return r;
}

slot_ready slot_three() {
  return {slot_id{3}, {node_id{1}, {1}, role::gpu_worker, 3}, {{model_id{0}, 1ms, 5ms, 8, {}}}};
}

struct no_client final : client_port {
  void answer(request_id, const outcome&, std::vector<std::byte>) override {}
};

/// Its batches never end.
struct busy_device final : device {
  loaded_model load(model_id, const model_source&) override { return {}; }
  void unload(model_id) override {}
  void start(batch_work, time_point) override {}
  void stop(time_point) override {}
  bool poll(time_point, batch_outcome&) override { return false; }
  time_point poll_at() const override { return never; }
};

template <class Actor>
struct actor_under_test {
  template <class... Args>
  explicit actor_under_test(const address& self, Args&&... args)
      : actor(self, out, std::forward<Args>(args)...) {}
  void deliver(actor_message m, const address& from = {}) {
    envelope e{from, actor.self(), std::move(m)};
    actor.on(e, now);
    actor.on_time(now);
  }
  void order(const command& c) {
    const auto r = actor.on_command(c, now);
    actor.on_time(now);
    require(r.token == c.token);
    require(!r.body.empty());
    if (r.ok) require(nlohmann::json::accept(r.body) && problem_with(actor.self().kind, c).empty());
    if (!problem_with(actor.self().kind, c).empty()) require(!r.ok);
  }
  nowhere out;
  Actor actor;
};

void try_queue(const command& c) {
  model_queue::options o;
  o.batching = "deferred";
  o.shedding = "window";
  o.parameters.slo = 20ms;
  actor_under_test<model_queue> queue(a_queue, o, make_batching("deferred", "window", o.parameters));
  queue.deliver(slot_three());
  queue.deliver(submit{{some_request(1)}});
  queue.order(c);
  queue.deliver(submit{{some_request(2)}});
  queue.order(c);
}

void try_arbiter(const command& c) {
  actor_under_test<rank_arbiter> arbiter(address{node_id{0}, {1}, role::rank_arbiter, 0},
                                         make_matchmaking("lowest_id"));
  arbiter.deliver(slot_three());
  arbiter.order(c);
  arbiter.deliver(candidate{model_id{0}, 1, 1, now, now + 10ms, {}});
  arbiter.order(c);
}

void try_gateway(const command& c) {
  null_memory_port memory;
  no_client clients;
  gateway::options o;
  o.models = {"m"};
  tenant_limiter limiter({});
  actor_under_test<gateway> under_test(a_gateway, o, memory, clients, limiter);
  under_test.deliver(node_up{node_id{0}, {1}});
  for (uint64_t id : {1, 2, 3}) under_test.deliver(client_request{some_request(id)});
  under_test.order(c);
  under_test.deliver(completion{{1}, 2, {{request_id{1}, 1, failure::none, {}, {}}}},
                     {node_id{1}, {1}, role::gpu_worker, 3});
  under_test.deliver(drops{{{request_id{2}, 1, drop_reason::late}}}, a_queue);
  under_test.order(c);
}

void try_worker(const command& c) {
  null_memory_port memory;
  busy_device slow;
  actor_under_test<gpu_worker> worker(address{node_id{1}, {1}, role::gpu_worker, 3},
                                      gpu_worker::options{slot_id{3}}, slow, memory);
  worker.deliver(slot_three());
  worker.deliver(node_up{node_id{0}, {1}});
  worker.order(c);
  for (uint64_t batch : {1, 2})
    worker.deliver(batch_order{{batch}, {1}, {}, {3}, a_queue, now, now, now + 1s, {some_request(batch)}},
                   a_queue);
  worker.order(c);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const auto line = text.find('\n');
  const command c{5, std::string(text.substr(0, line)),
                  line == std::string_view::npos ? std::string() : std::string(text.substr(line + 1))};
  constexpr std::pair<role, void (*)(const command&)> actors[] = {{role::model_queue, try_queue},
                                                                  {role::rank_arbiter, try_arbiter},
                                                                  {role::gateway, try_gateway},
                                                                  {role::gpu_worker, try_worker}};
  actors[bytes[0] % std::size(actors)].second(c);
  for (size_t kind = 0; kind < role_count; ++kind) problem_with(static_cast<role>(kind), c);

  cluster_spec cluster;
  cluster.nodes.resize(2);
  cluster.nodes[0].name = "head";
  cluster.nodes[0].roles = {node_role::scheduler, node_role::gateway};
  const name_lookup lookup{[](std::string_view) { return model_id{1}; },
                           [](const cluster_spec&, node_id node, role kind, uint32_t index) {
                             return (node.value + static_cast<uint32_t>(kind) + index) % 3 != 0;
                           }};
  parse_actor_name(text, cluster, lookup);

  const auto read = read_order({5, "ask", std::string(text)}, cluster, lookup);
  if (const auto* problem = std::get_if<std::string>(&read)) {
    require(!problem->empty());
    return 0;
  }
  const auto& order = std::get<console_command>(read);
  require(problem_with(order.to.kind, order.what).empty());
  for (const auto& [kind, give] : actors)
    if (kind == order.to.kind) give(order.what);
  return 0;
}
