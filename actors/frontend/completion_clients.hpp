// completion_clients keeps the generation requests of a gateway's HTTP clients until their answers end. As
// completion_port it passes tokens and outcomes of the llm_gateway to HTTP. HTTP threads add requests; the
// gateway calls the port in its turns.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "actors/frontend/completion_answer.hpp"
#include "actors/llm/gateway.hpp"

namespace troupe {

class completion_clients final : public completion_port {
 public:
  /// `give_up` is called for requests whose outcome is no longer needed.
  void on_give_up(std::function<void(request_id)> give_up) { give_up_ = std::move(give_up); }

  /// Called before any of its requests goes to the gateway; the gateway uses the answer in its turns
  /// from then on.
  void expect(std::unique_ptr<completion_answer> answer);
  /// The token of a `change_adapter` whose result goes to `reply`; `done`: the body on success.
  uint64_t expect_change(http_reply reply, std::string done);

  // completion_port
  bool token(const generated_token& t) override;
  void ended(request_id id, const outcome& how) override;
  void adapter_changed(const troupe::adapter_changed& a) override;

  /// Requests that are parsed and not answered.
  size_t waiting_now() const { return waiting_now_.load(std::memory_order_relaxed); }

 private:
  struct place {
    std::shared_ptr<completion_answer> answer;
    size_t prompt = 0;
  };
  struct change {
    http_reply reply;
    std::string done;  // body on success
  };
  std::function<void(request_id)> give_up_;
  std::mutex mutex_;  // of the tables
  std::unordered_map<request_id, place> open_;
  std::unordered_map<uint64_t, change> changes_;
  uint64_t next_change_ = 1;
  std::atomic<size_t> waiting_now_{0};
};

}  // namespace troupe
