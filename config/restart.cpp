#include "config/sections.hpp"

namespace troupe {

restart_spec read_restart(section& root) {
  auto& s = root.table_or_empty("restart");
  restart_spec r;
  r.max_delay = s.seconds("max_delay_s", 0.2, 3600, 30);
  r.give_up_after = static_cast<uint32_t>(s.integer("give_up_after", 0, 1'000'000, 0));
  return r;
}

}  // namespace troupe
