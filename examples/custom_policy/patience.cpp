// The descriptor that Troupe reads when it loads the library.
#include <memory>

#include "patient.hpp"
#include "plugins/plugin.hpp"
#include "plugins/protocol.hpp"
#include "saver.hpp"
#include "tally.hpp"
#include "warmest.hpp"

using namespace troupe;

TROUPE_PLUGIN("patience", "1.0", host) {
  host.number("fraction", "a share of the slack", 0, 1, 0.5);
  host.batching("patient", [](const batching_parameters& p, shedding rule) {
    return std::make_unique<patience::patient>(p, rule);
  });
  host.matchmaking("warmest", [](const plugin_settings&) { return std::make_unique<patience::warmest>(); });
  host.integer("idle_slots", 1, 64, 2);
  host.integer("look_every_ms", 10, 60000, 200);
  host.actor("saver", [](const extension_parts& parts) { return std::make_unique<patience::saver>(parts); });
  host.actor(
      "tally", [](const extension_parts& parts) { return std::make_unique<patience::tally>(parts); },
      protocol_of(patience::tally_commands{}));
}
