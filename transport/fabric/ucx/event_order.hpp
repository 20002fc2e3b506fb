// Workaround for a crash of UCX 1.13 over TCP. Private to transport/.
#pragma once

namespace troupe::ucx {

/// Does nothing itself; a call links the workaround, which replaces libucs's `ucs_event_set_wait` and
/// `ucs_event_set_del`. Linkers must export them (transport/CMakeLists.txt).
void keep_event_order();

}  // namespace troupe::ucx
