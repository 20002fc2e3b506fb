// Messages of this subject that cross between nodes (rules: messages/wire/wire.hpp).
#pragma once
#include "messages/deployment/deployment.hpp"
#include "messages/deployment/model_spec.hpp"

#define TROUPE_DEPLOYMENT_MESSAGES(MESSAGE)        \
  MESSAGE(18, deployment_log, DeploymentLog)       \
  MESSAGE(19, deployment_report, DeploymentReport) \
  MESSAGE(20, deploy, Deploy)                      \
  MESSAGE(21, redeploy, Redeploy)                  \
  MESSAGE(22, undeploy, Undeploy)                  \
  MESSAGE(23, move_model, MoveModel)               \
  MESSAGE(24, drain_node, DrainNode)               \
  MESSAGE(25, change_reply, ChangeReply)

#define TROUPE_DEPLOYMENT_PARTS(PART) \
  PART(model_spec, ModelSpec)         \
  PART(deployment, Deployment)        \
  PART(deployment_part, DeploymentPart)

#define TROUPE_DEPLOYMENT_ENUMS(ENUM) \
  ENUM(profile_origin)                \
  ENUM(deployment_state)
