#pragma once
#include <cstdint>
#include <vector>

#include "messages/commands/commands.hpp"
#include "plugins/extension.hpp"

namespace patience {

/// An actor that spares GPUs: asks the arbiter every `look_every_ms` how its slots are, takes one out of
/// service while more than `idle_slots` are idle, and puts one back when none is; and tells every tally
/// (tally.hpp) how many are out. It sends the commands that `troupe ask` sends, knows neither threads nor a
/// clock, and runs in simulations as it is. It belongs on the scheduler's node: what it took out, it knows as
/// long as the arbiter, which is as long as the process.
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
  std::vector<troupe::slot_id> out_;  ///< of service, the newest last
  uint64_t asked_ = 0;
};

}  // namespace patience
