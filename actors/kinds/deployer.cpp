#include "actors/kinds/actor_kind.hpp"

namespace troupe {

constinit const actor_kind deployer_actor_kind{
    .kind = role::deployer,
    .one_per = "node",
    .does = "keeps the deployment log, which the leader's deployer writes",
};

}  // namespace troupe
