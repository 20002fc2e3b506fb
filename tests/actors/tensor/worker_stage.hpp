// A stage for a worker: a slot of the emulated device, with memory whose pulls end when a test ends them.
#pragma once
#include "actors/tensor/gpu_worker.hpp"

#include <algorithm>

#include "gpu/device/emulated_device.hpp"
#include "tests/actors/stage.hpp"

namespace troupe::test {

inline constexpr address second_gateway{node_id{5}, {7}, role::gateway, 0};

struct worker_parts {
  explicit worker_parts(uint64_t slots) : memory(worker_node, slots) {}
  emulated_device device;
  scripted_memory memory;                // the worker's own
  scripted_memory source{gateway_node};  // where the inputs are
};

/// A slot without a model. `Base`: a stage<gpu_worker>, or one that can do more.
template <class Base = stage<gpu_worker>>
struct basic_worker_stage : worker_parts, Base {
  explicit basic_worker_stage(uint64_t slots = 100)
      : worker_parts(slots), Base(worker_of(0), gpu_worker::options{slot_id{0}}, device, memory) {}
  /// Model 0, with these bytes per row; ℓ(b) = b + 5, a unit is 1 ms.
  void load(int64_t input, int64_t output) {
    const auto s = ready(0, 12, input, output);
    model_source m;
    m.signature = s.models[0].signature;
    m.latency = {1ms, 5ms};
    device.load(model_id{0}, m);
    this->deliver(s);
  }
};

/// A slot with its model and two gateways.
struct worker_stage : basic_worker_stage<> {
  explicit worker_stage(uint64_t slots = 100, int64_t input = 4, int64_t output = 8)
      : basic_worker_stage(slots) {
    load(input, output);
    bring_peers_up();
  }
  void bring_peers_up() {
    deliver(node_up{gateway_node, {11}});
    deliver(node_up{second_gateway.node, second_gateway.incarnation});
  }

  request ask(uint64_t id, const address& gateway = the_gateway) {
    request r;
    r.id = request_id{id};
    r.gateway = gateway;
    const auto input = source.take(4);
    std::ranges::fill(input->payload, static_cast<std::byte>(id));
    r.input = input->region;
    return r;
  }
  static batch_order order_of(uint64_t batch, double exec_at, double start_by, std::vector<request> requests,
                              uint64_t term = 10) {
    return {{batch}, {term},      model_id{0},  slot_id{0},         the_queue,
            at(0),   at(exec_at), at(start_by), std::move(requests)};
  }
  void order(uint64_t batch, double exec_at, double start_by, std::vector<request> requests) {
    deliver(order_of(batch, exec_at, start_by, std::move(requests)), the_queue);
  }
  void end_pull(pull_status status = pull_status::ok) { deliver(memory.end_pull(source, status)); }
  refusal refused(batch_order o) {
    deliver(std::move(o), the_queue);
    const auto said = out.take<batch_done>();
    REQUIRE(said.size() == 2);  // to the queue and to the arbiter
    return said[0].refused;
  }
};

}  // namespace troupe::test
