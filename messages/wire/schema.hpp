// The Cap'n Proto struct of each message and of its parts.
#pragma once
#include <capnp/schema.h>

#include "messages/cluster/wire.capnp.h"
#include "messages/common/wire.capnp.h"
#include "messages/deployment/wire.capnp.h"
#include "messages/llm/wire.capnp.h"
#include "messages/scaling/wire.capnp.h"
#include "messages/tensor/wire.capnp.h"
#include "messages/wire/wire.hpp"

namespace troupe {

template <class T>
struct schema_of;
#define TROUPE_PART_SCHEMA(name, schema_name) \
  template <>                                 \
  struct schema_of<name> {                    \
    using type = schema::schema_name;         \
  };
#define TROUPE_MESSAGE_SCHEMA(number, name, schema_name) TROUPE_PART_SCHEMA(name, schema_name)
TROUPE_WIRE_MESSAGES(TROUPE_MESSAGE_SCHEMA)
TROUPE_WIRE_PARTS(TROUPE_PART_SCHEMA)
#undef TROUPE_MESSAGE_SCHEMA
#undef TROUPE_PART_SCHEMA

}  // namespace troupe
