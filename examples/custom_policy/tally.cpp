#include "tally.hpp"

#include "messages/commands/run_command.hpp"

namespace patience {

using namespace troupe;

void tally::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{[&](plugin_message& m) {
             if (m.type != spared_type_) return;
             count(now);
             so_far_.slots = static_cast<uint32_t>(m.body.size());
           }});
}

command_reply tally::on_command(const command& c, time_point now) {
  return run_command(tally_commands{}, c, [&](const get_savings&) {
    count(now);
    return so_far_;
  });
}

void tally::count(time_point now) {
  if (counted_ != never) so_far_.slot_time += so_far_.slots * (now - counted_);
  counted_ = now;
}

}  // namespace patience
