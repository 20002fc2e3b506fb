// Whatever a command says, an actor answers it: with JSON, or with a sentence; and what the check before it
// is sent refuses, the actor refuses. Input: a byte that chooses the actor, the command's name, a newline,
// its fields.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "actors/actor_name.hpp"
#include "actors/model_queue.hpp"
#include "actors/rank_arbiter.hpp"
#include "messages/command_schema.hpp"

namespace {

using namespace troupe;

void require(bool ok) {
  if (!ok) std::abort();
}

struct nowhere final : outbox {
  void send(const address&, const address&, shell_message) override {}
};

constexpr time_point now{1h};

template <class Shell>
struct actor_under_test {
  template <class... Args>
  explicit actor_under_test(role kind, Args&&... args)
      : actor(address{node_id{0}, {1}, kind, 0}, out, std::forward<Args>(args)...) {
    tell(slot_ready{
        slot_id{3}, {node_id{1}, {1}, role::gpu_worker, 3}, {{model_id{0}, 1ms, 5ms, 8, 0, 1, {}}}});
  }
  void tell(shell_message m) {
    envelope e{{}, actor.self(), std::move(m)};
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
  Shell actor;
};

void try_queue(const command& c) {
  model_queue::options o;
  o.batching = "deferred";
  o.shedding = "window";
  o.parameters.slo = 20ms;
  actor_under_test<model_queue> queue(role::model_queue, o,
                                      make_batching("deferred", "window", o.parameters));
  request r;
  r.id = request_id{1};
  r.arrival = now;
  r.deadline = now + 20ms;
  queue.tell(submit{{r}});
  queue.order(c);
  r.id = request_id{2};
  queue.tell(submit{{r}});
  queue.order(c);
}

void try_arbiter(const command& c) {
  actor_under_test<rank_arbiter> arbiter(role::rank_arbiter, make_matchmaking("lowest_id"));
  arbiter.order(c);
  arbiter.tell(candidate{model_id{0}, 1, 1, now, now + 10ms, {}});
  arbiter.order(c);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const auto line = text.find('\n');
  const command c{5, std::string(text.substr(0, line)),
                  line == std::string_view::npos ? std::string() : std::string(text.substr(line + 1))};
  bytes[0] % 2 == 0 ? try_queue(c) : try_arbiter(c);
  for (size_t kind = 0; kind < role_count; ++kind) problem_with(static_cast<role>(kind), c);

  cluster_spec cluster;
  cluster.nodes.resize(2);
  cluster.nodes[0].name = "head";
  parse_actor_name(text, cluster, [](std::string_view) { return model_id{1}; });
  return 0;
}
