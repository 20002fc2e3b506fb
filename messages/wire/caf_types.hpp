// CAF type ids of the messages that cross between nodes. On the control lane CAF writes their names, so the
// ids may change.
#pragma once
#include <caf/type_id.hpp>

#include "messages/wire/inspect.hpp"
#include "messages/wire/wire.hpp"

CAF_BEGIN_TYPE_ID_BLOCK(troupe, first_custom_type_id)
#define TROUPE_CAF_TYPE(number, name, schema) CAF_ADD_TYPE_ID(troupe, (troupe::name))
TROUPE_WIRE_MESSAGES(TROUPE_CAF_TYPE)
#undef TROUPE_CAF_TYPE
CAF_END_TYPE_ID_BLOCK(troupe)
