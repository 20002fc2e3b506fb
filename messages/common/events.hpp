// Events of several subjects on the own node (rules: actors/runtime/events.hpp).
#pragma once
#include "messages/common/ids.hpp"

namespace troupe {

/// The client of this request has disconnected.
struct client_gone {
  request_id id;
  TROUPE_MESSAGE(client_gone, id)
};

using common_events = type_list<client_gone>;

}  // namespace troupe
