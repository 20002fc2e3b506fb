#pragma once
#include <cstdint>
#include <vector>

#include "actors/extension/extension.hpp"
#include "messages/commands/commands.hpp"

namespace patience {

/// An actor that takes idle GPUs out of service. Every `look_every_ms` it asks the arbiter for the state of
/// its slots, disables one while more than `idle_slots` are idle, and enables one when none is. It sends
/// every tally (tally.hpp) the number of disabled slots. It sends the same commands as `troupe ask`, knows
/// neither threads nor a clock, and also runs in simulations. It belongs on the scheduler's node: its list of
/// disabled slots then lasts as long as the arbiter's, until the process ends.
class saver final : public troupe::actor {
 public:
  explicit saver(const troupe::extension_parts& parts);

  void on(troupe::envelope& e, troupe::time_point now) override;
  void on_time(troupe::time_point now) override;
  troupe::time_point next_wakeup() const override { return next_look_; }
  void report(std::vector<troupe::metric>& out) const override;
  std::string_view state() const override { return out_.empty() ? "watching" : "sparing"; }

 private:
  void on_state(const troupe::arbiter_state& state);
  void send_slot_command(const char* command, troupe::slot_id slot);

  const troupe::address arbiter_;
  const uint32_t spared_type_;
  std::vector<troupe::address> tallies_;
  const size_t idle_slots_;
  const troupe::duration look_every_;
  troupe::time_point next_look_ = troupe::long_ago;
  std::vector<troupe::slot_id> out_;  ///< disabled slots, the newest last
  uint64_t asked_ = 0;
};

}  // namespace patience
