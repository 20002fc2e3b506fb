// The commands of all actors. Each subject lists those of its own in messages/<subject>/commands.hpp; the
// rules are in messages/common/commands.hpp.
#pragma once
#include "messages/cluster/commands.hpp"
#include "messages/common/commands.hpp"
#include "messages/common/plugin.hpp"
#include "messages/deployment/commands.hpp"
#include "messages/llm/commands.hpp"
#include "messages/operator/commands.hpp"
#include "messages/scaling/commands.hpp"
#include "messages/tensor/commands.hpp"
