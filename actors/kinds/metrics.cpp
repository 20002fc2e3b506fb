#include "actors/kinds/actor_kind.hpp"

namespace troupe {

constinit const actor_kind metrics_actor_kind{
    .kind = role::metrics,
    .one_per = "node",
    .does =
        "collects the metrics of its node's actors for `troupe status` and, on gateway nodes, for Prometheus",
};

}  // namespace troupe
