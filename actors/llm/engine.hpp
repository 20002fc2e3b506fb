// llm_engine serves one language model with many adapters on one device. It takes requests from gateways,
// forms steps by continuous batching, loads adapters onto the device while steps run, and sends the tokens of
// a step as soon as it is done. If the device accepts steps ahead, the next step is planned and started while
// one runs, so that the device does not wait for the engine between two steps.
//
// A request that another engine will continue is stopped, and its KV blocks wait under a lease for that
// engine to pull them (messages/llm/handover.hpp).
//
// Only gateways assign outcomes: the engine sends `drops` and `completion` for requests that it drops or
// cannot serve. It cancels the requests of a gateway that is down. The loss of the device ends the process:
// the engine throws (actors/runtime/supervision.hpp).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/llm/engine_handovers.hpp"
#include "actors/runtime/actor.hpp"
#include "actors/runtime/peers_up.hpp"
#include "gpu/llm/engine_device.hpp"
#include "messages/llm/commands.hpp"
#include "policies/llm/adapter_manager.hpp"
#include "policies/llm/block_updates.hpp"
#include "policies/llm/gateway_answers.hpp"
#include "policies/llm/generation_batch.hpp"
#include "policies/llm/status_updates.hpp"
#include "policies/llm/step_clock.hpp"
#include "policies/scaling/instance_lifecycle.hpp"

namespace troupe {

class llm_engine final : public actor {
 public:
  struct options {
    llm_id model;
    engine_id engine;
    instance_phase phase = instance_phase::both;  ///< at the start
    std::string name;
    std::vector<node_id> gateways;
    std::vector<node_id> routers;
    bool scales = false;  ///< the parameter pools on the routers' nodes order when its model is loaded
    uint32_t max_sequences = 32;
    uint32_t max_waiting = 1024;
    uint32_t prefill_chunk = 512;
    bool mix_adapters = true;
    bool prefix_cache = true;
    bool tells_cached = false;      ///< routers get the blocks of its prefix cache
    std::string prefill = "eager";  ///< policies/llm/prefill_timing.hpp
    uint32_t adapter_slots = 8;
    std::vector<adapter_entry> adapters;  ///< registered at the start
    duration status_interval = 100ms;     ///< between two `engine_status` at least
    /// The model cannot be loaded; `transient`: not because of its files.
    std::function<void(std::string, bool transient)> on_unusable = {};
  };

  /// `device` and `memory` outlive the engine. The device has begun to load its model, unless that scales.
  llm_engine(address self, outbox& out, const options& o, llm::engine_device& device, memory_port& memory);
  ~llm_engine() override { device_.stop(); }  // it may be reading a step of the engine

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override;
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override;
  size_t unfinished() const override { return batch_ ? batch_->size() + handovers_.leases().size() : 0; }
  void busy_with(std::vector<node_id>& out) const override;

 private:
  void on_node_up(const node_up& n);
  /// False: it was refused.
  bool accept(generation& g);
  void cancel_request(request_id id);
  void on_request_end(request_id id, llm::adapter_id adapter);
  void fail(const std::vector<request_id>& ids, failure why, const std::string& detail);

  void on_event(llm::engine_event& e, time_point now);
  void on_loaded(const llm::engine_facts& facts);
  void change_stage();
  void on_step(const llm::engine_event& e, time_point now);
  void begin_steps(time_point now);
  void leave_if_prefilled(request_id id);
  void hand_over_stopped(time_point now);
  void release(kv_leases::blocks kept);
  engine_handovers::loaded_engine loaded() { return {*batch_, device_, facts_}; }
  bool can_start() const { return batch_ && batch_->scheduler().under_way() <= facts_.steps_ahead; }
  time_point stalled_at() const;

  void exchange_adapters(time_point now);
  void carry_out(const llm::adapter_manager::outcome& o);
  void flush_answers();
  void report_preempted();
  void tell_cached(time_point now);
  void broadcast(const actor_message& news);
  void on_change();
  engine_status status(time_point now) const;
  void send_status(time_point now);
  llm_engine_state describe() const;

  const options options_;
  llm::engine_device& device_;
  std::string problem_;    // why the model cannot be served
  bool draining_ = false;  // with its node
  instance_lifecycle lifecycle_;
  term_id term_;  // of the latest order
  instance_phase phase_;
  llm::engine_facts facts_;
  llm::engine_event event_;                     // the latest event of the device
  std::optional<llm::generation_batch> batch_;  // once the model is loaded
  llm::adapter_manager adapters_;
  llm::step_clock clock_;
  llm::gateway_answers answers_;  // of this turn
  llm::status_updates updates_;
  llm::block_updates blocks_;
  engine_handovers handovers_;
  peers_up nodes_up_;          // with gateways or routers
  time_point now_ = long_ago;  // of this turn
  uint64_t prompt_tokens_ = 0, generated_tokens_ = 0, computed_tokens_ = 0;
};

}  // namespace troupe
