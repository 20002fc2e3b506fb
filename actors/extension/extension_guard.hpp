// extension_guard wraps an actor of a plug-in and filters its messages and commands.
#pragma once
#include <memory>

#include "actors/extension/extension.hpp"

namespace troupe {

/// Forwards all calls to the guarded actor, with two exceptions: messages of other plug-ins are counted and
/// dropped, and commands outside the actor's protocol are refused.
class extension_guard final : public actor {
 public:
  /// `takes` outlives it.
  extension_guard(std::unique_ptr<actor> guarded, outbox& out, uint32_t first_type,
                  const extension_protocol& takes);

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override { return guarded_->next_wakeup(); }
  void end(time_point now) override { guarded_->end(now); }
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override { return guarded_->state(); }
  size_t unfinished() const override { return guarded_->unfinished(); }
  void busy_with(std::vector<node_id>& out) const override { guarded_->busy_with(out); }
  void begin_incarnation(incarnation_id incarnation) override {
    self_.incarnation = incarnation;
    guarded_->begin_incarnation(incarnation);
  }

 private:
  const std::unique_ptr<actor> guarded_;
  const uint32_t first_type_;
  const extension_protocol& takes_;
  uint64_t foreign_ = 0;
};

}  // namespace troupe
