#include "actors/kinds/actor_kind.hpp"

namespace troupe {

constinit const actor_kind node_actor_kind{
    .kind = role::node,
    .one_per = "process",
    .does =
        "connects to its peers, is the only failure detector, announces `node_up` and `node_down` once for "
        "each incarnation, drains",
};

}  // namespace troupe
