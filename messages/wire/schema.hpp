// Which schema belongs to which struct.
#pragma once
#include <capnp/schema.h>

#include "messages/wire/troupe.capnp.h"
#include "messages/wire/wire.hpp"

namespace troupe {

template <class T>
struct schema_of;
#define TROUPE_SCHEMA_OF(name, schema_name) \
  template <>                               \
  struct schema_of<name> {                  \
    using type = schema::schema_name;       \
  };
TROUPE_WIRE_MESSAGES(TROUPE_SCHEMA_OF)
TROUPE_WIRE_PARTS(TROUPE_SCHEMA_OF)
#undef TROUPE_SCHEMA_OF

}  // namespace troupe
