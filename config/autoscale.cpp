#include <algorithm>
#include <array>

#include "config/sections.hpp"

namespace troupe {

autoscale_spec read_autoscale(section& root, const std::vector<node_spec>& nodes) {
  auto& s = root.table_or_empty("autoscale");
  constexpr std::array<std::string_view, 3> modes{"off", "advise", "apply"};  // as in `autoscale_mode`
  constexpr uint32_t max = 1 << 20;
  autoscale_spec a;
  a.mode = static_cast<autoscale_mode>(s.choice("mode", modes, static_cast<size_t>(a.mode)));
  a.window = s.seconds("window_s", 0.1, 86400, 10);
  a.bad_rate = s.number("bad_rate", "a fraction", 0, 0.5, 0.01);
  a.reserve = s.number("reserve", "a fraction", 0, 10, 0.1);
  a.min_gpus = static_cast<uint32_t>(s.integer("min_gpus", 1, max, 1));
  a.max_gpus = static_cast<uint32_t>(s.integer("max_gpus", 0, max, 0));
  if (a.max_gpus != 0 && a.max_gpus < a.min_gpus)
    s.refuse("max_gpus", "must be min_gpus or more, or 0 for any number");
  const bool emulated = std::ranges::any_of(nodes, [](const node_spec& n) {
    return std::ranges::any_of(n.devices, [](const auto& d) { return d.kind == device_kind::emulated; });
  });
  if (a.mode == autoscale_mode::apply && !emulated)
    s.refuse("mode", "\"apply\" takes emulated devices out of service, and no node has any; give \"advise\"");
  return a;
}

}  // namespace troupe
