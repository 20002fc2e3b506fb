#pragma once
#include <cstdint>
#include <string_view>

#include "actors/extension/extension.hpp"
#include "messages/commands/commands.hpp"

namespace patience {

/// Number of slots that the saver has disabled: a message type of this plug-in, from it to every tally. Its
/// type is `extension_parts::first_type` plus this; its body is one byte for every slot.
inline constexpr uint32_t slots_spared = 0;

// The commands of a tally, listed by `troupe ask FILE extension/1 --schema`.
struct get_savings {
  static constexpr const char* about = "slots out of service now, and the slot time saved so far";
  TROUPE_MESSAGE(get_savings)
};
struct savings {
  uint32_t slots = 0;            ///< disabled now
  troupe::duration slot_time{};  ///< total of all slots, since the node began
  TROUPE_MESSAGE(savings, slots, slot_time)
};
using tally_commands = troupe::type_list<troupe::exchange<get_savings, savings>>;

/// An actor that adds up the savings of the saver, on any node. The saver repeats its state, so that a lost
/// message costs only a moment's precision.
class tally final : public troupe::actor {
 public:
  explicit tally(const troupe::extension_parts& parts)
      : actor(parts.self, parts.out), spared_type_(parts.first_type + slots_spared) {}

  void on(troupe::envelope& e, troupe::time_point now) override;
  void on_time(troupe::time_point) override {}
  troupe::time_point next_wakeup() const override { return troupe::never; }
  troupe::command_reply on_command(const troupe::command& c, troupe::time_point now) override;
  void report(std::vector<troupe::metric>&) const override {}
  std::string_view state() const override { return "counting"; }

 private:
  void count(troupe::time_point now);

  const uint32_t spared_type_;
  savings so_far_;
  troupe::time_point counted_ = troupe::never;
};

}  // namespace patience
