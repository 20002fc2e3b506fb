// Messages of this subject that cross between nodes (rules: messages/wire/wire.hpp).
#pragma once
#include "messages/common/memory.hpp"
#include "messages/common/plugin.hpp"

#define TROUPE_COMMON_MESSAGES(MESSAGE) MESSAGE(27, plugin_message, PluginMessage)

#define TROUPE_COMMON_PARTS(PART) \
  PART(address, Address)          \
  PART(region_ref, RegionRef)

#define TROUPE_COMMON_ENUMS(ENUM) \
  ENUM(role)                      \
  ENUM(memory_kind)
