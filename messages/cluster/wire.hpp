// Messages of this subject that cross between nodes (rules: messages/wire/wire.hpp).
#pragma once
#include "messages/cluster/membership.hpp"

#define TROUPE_CLUSTER_MESSAGES(MESSAGE)   \
  MESSAGE(10, ping, Ping)                  \
  MESSAGE(11, pong, Pong)                  \
  MESSAGE(12, hello, Hello)                \
  MESSAGE(13, rejection, Rejection)        \
  MESSAGE(14, slot_ready, SlotReady)       \
  MESSAGE(15, leave_notice, LeaveNotice)   \
  MESSAGE(16, command, Command)            \
  MESSAGE(17, command_reply, CommandReply) \
  MESSAGE(26, leave_ack, LeaveAck)

#define TROUPE_CLUSTER_PARTS(PART) \
  PART(model_ready, ModelReady)    \
  PART(leadership, Leadership)     \
  PART(engine_decision, EngineDecision)

#define TROUPE_CLUSTER_ENUMS(ENUM) ENUM(rejection_reason)
