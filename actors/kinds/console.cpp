#include "actors/kinds/actor_kind.hpp"

namespace troupe {

constinit const actor_kind console_actor_kind{
    .kind = role::console,
    .one_per = "node",
    .does = "serves the operator's commands; forwards those for actors of another node to its console",
};

}  // namespace troupe
