// A remedy for a crash of UCX 1.13 over TCP. Private to transport/.
#pragma once

namespace troupe::ucx {

/// Does nothing itself: whoever calls it has the remedy linked, which takes the place of libucs's
/// `ucs_event_set_wait` and `ucs_event_set_del`. Linkers need to be told to export them
/// (transport/CMakeLists.txt).
void keep_event_order();

}  // namespace troupe::ucx
