// Commands to deployers. They also cross between nodes (deployment.hpp).
#pragma once
#include "messages/common/commands.hpp"
#include "messages/deployment/deployment.hpp"

namespace troupe {

using deployer_commands = type_list<exchange<deploy, change_reply>, exchange<redeploy, change_reply>,
                                    exchange<undeploy, change_reply>, exchange<move_model, change_reply>,
                                    exchange<drain_node, change_reply>>;

}  // namespace troupe
