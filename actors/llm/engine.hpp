// llm_engine: serves one language model with many adapters from one device. Takes requests from gateways,
// forms steps by continuous batching, has adapters brought onto the device beside them, and sends every token
// back as soon as it is there. Where the device takes steps ahead the next one is planned and started while
// one runs, so that the device need not wait for what happens here between two.
//
// Only gateways assign outcomes; the engine says `drops` and `completion` of what it gives up or cannot do.
// It holds nothing of a gateway that is gone.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/llm/adapter_registry.hpp"
#include "actors/runtime/actor.hpp"
#include "gpu/llm/engine_device.hpp"
#include "messages/commands/commands.hpp"
#include "policies/llm/adapter_slots.hpp"
#include "policies/llm/sequence_batch.hpp"
#include "policies/llm/step_meter.hpp"

namespace troupe {

class llm_engine final : public actor {
 public:
  struct options {
    llm_id model;
    engine_id engine;
    std::string name;
    std::vector<node_id> gateways;
    std::vector<node_id> routers;
    uint32_t max_sequences = 32;
    uint32_t max_waiting = 1024;
    uint32_t prefill_chunk = 512;
    bool mix_adapters = true;
    std::string prefill = "eager";  ///< policies/llm/prefill_timing.hpp
    uint32_t adapter_slots = 8;
    std::vector<adapter_entry> adapters;                ///< that are there from the beginning
    duration status_interval = 100ms;                   ///< between two `engine_status` at least
    std::function<void(std::string)> on_unusable = {};  ///< the model cannot be loaded
  };

  /// `device` outlives it and has begun to load its model.
  llm_engine(address self, outbox& out, const options& o, llm::engine_device& device);
  ~llm_engine() override { device_.stop(); }  // it may be reading a step of ours

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override;
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override;
  size_t unfinished() const override { return in_flight_.size(); }
  void busy_with(std::vector<node_id>& out) const override;

 private:
  /// A request with sequences that have not ended.
  struct in_flight_request {
    address gateway;
    uint32_t attempt = 1;
    llm::adapter_id adapter;
    std::map<uint32_t, llm::sequence_id> open;  // by choice
  };
  struct place {
    request_id request;
    uint32_t choice = 0;
  };
  /// What goes to a gateway at the end of the turn.
  struct post {
    generated tokens;
    drops dropped;
    completion failed;
  };

  void accept(generation& g);
  std::optional<std::string> problem_with(const generation& g) const;
  bool begin(const generation& g, const llm::sequence_request& sequence, in_flight_request& f);
  void drop(const generation& g, drop_reason why);
  void fail(const generation& g, std::string detail);
  void give_up(request_id id);
  void end_sequence(request_id id, uint32_t choice);
  void close(std::unordered_map<request_id, in_flight_request>::iterator f);
  void fail_those(const std::vector<request_id>& ids, failure why, const std::string& detail);
  void on_failed_step(const std::string& detail);

  void on_event(llm::engine_event& e, time_point now);
  void on_loaded(const llm::engine_facts& facts);
  void on_step(llm::engine_event& e);
  void begin_steps(time_point now);
  void start(const llm::llm_step& step);
  bool can_start() const { return sequences_ && sequences_->scheduler().under_way() <= facts_.steps_ahead; }
  void drop_late();
  time_point step_begins(time_point now) const;
  /// When the first step under way has taken longer than any does.
  time_point stalled_at() const;
  llm::step_context context(time_point at) const;

  // adapters (engine_adapters.cpp)
  void exchange_adapters(time_point now);
  void change(const address& from, const change_adapter& c);
  void on_adapter_read(llm::adapter_id id, const std::string& problem);
  void on_adapter_ready(const llm::engine_event& e, time_point now);
  void on_adapter_failed(const llm::engine_event& e);
  void leave(llm::adapter_id id);
  void answer(const address& to, uint64_t token, adapter_answer what, std::string message = {});
  void broadcast(const actor_message& news);
  void send_preempted();
  adapters_known all_adapters() const;
  adapter_list list(const list_adapters& asked) const;

  engine_status status() const;
  void send_status(time_point now);
  llm_engine_state describe() const;
  post& post_to(const address& gateway);
  void mail();

  const options options_;
  llm::engine_device& device_;
  std::string problem_;  // why the model will never be there
  bool draining_ = false;
  llm::engine_facts facts_;
  llm::engine_event happened_;                    // what the device told last
  std::optional<llm::sequence_batch> sequences_;  // once the model is loaded
  llm::adapter_slots slots_;
  adapter_registry adapters_;
  std::unordered_map<request_id, in_flight_request> in_flight_;
  std::unordered_map<llm::sequence_id, place> places_;
  struct asker {
    address gateway;
    uint64_t token = 0;
  };
  std::unordered_map<llm::adapter_id, asker> askers_;  // of adapters that come or go
  std::map<node_id, incarnation_id> nodes_up_;         // with gateways or routers
  std::vector<std::pair<address, post>> posts_;
  llm::step_meter pace_;
  time_point step_began_ = long_ago;  // the first one under way
  bool adapters_moved_ = false;       // who has a slot may have to change
  std::optional<engine_status> sent_status_;
  time_point now_ = long_ago;  // of this turn
  time_point status_sent_at_ = long_ago;
  bool status_changed_ = true;
  uint64_t steps_ = 0, prompt_tokens_ = 0, generated_tokens_ = 0;
  uint64_t adapter_loads_ = 0, adapter_reads_ = 0;
  duration device_busy_{};
};

}  // namespace troupe
