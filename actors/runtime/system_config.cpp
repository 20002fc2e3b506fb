#include "actors/runtime/system_config.hpp"

#include "actors/runtime/caf_types.hpp"

namespace troupe {

system_config::system_config() {
  add_message_types<caf::id_block::troupe>();
  add_message_types<caf::id_block::troupe_actors>();
  set("logger.verbosity", caf::atom("quiet"));
}

}  // namespace troupe
