// UCX 1.13 handles a TCP socket that became readable and writable at once by reading and then writing. If the
// read tells that the peer has closed, the connection is freed in between, and the write runs on freed
// memory. So a process that had given up a suspended peer crashed when that peer died. The workaround: after
// a read that removed a descriptor from the set, the write is skipped; a socket that is still in the set is
// reported again, because these sets are level-triggered. Both functions replace libucs's own, which they
// call.
#include "transport/fabric/ucx/event_order.hpp"

#include <dlfcn.h>
#include <ucs/sys/event_set.h>

namespace troupe::ucx {
namespace {

thread_local unsigned removed = 0;  ///< descriptors that this thread removed from any set

struct handling {
  ucs_event_set_handler_t handler;
  void* argument;
};

void read_then_write(void* of, ucs_event_set_types_t events, void* handling_of_all) {
  const auto& h = *static_cast<const handling*>(handling_of_all);
  constexpr unsigned both = UCS_EVENT_SET_EVREAD | UCS_EVENT_SET_EVWRITE;
  if ((events & both) != both) return h.handler(of, events, h.argument);
  const unsigned before = removed;
  h.handler(of, static_cast<ucs_event_set_types_t>(events & ~unsigned{UCS_EVENT_SET_EVWRITE}), h.argument);
  if (removed == before) h.handler(of, UCS_EVENT_SET_EVWRITE, h.argument);
}

template <class Function>
Function of_libucs(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

void keep_event_order() {}

}  // namespace troupe::ucx

extern "C" __attribute__((visibility("default"))) ucs_status_t ucs_event_set_del(ucs_sys_event_set_t* set,
                                                                                 int fd) {
  static const auto next = troupe::ucx::of_libucs<decltype(&ucs_event_set_del)>("ucs_event_set_del");
  ++troupe::ucx::removed;
  return next(set, fd);
}

extern "C" __attribute__((visibility("default"))) ucs_status_t ucs_event_set_wait(
    ucs_sys_event_set_t* set, unsigned* events, int timeout_ms, ucs_event_set_handler_t handler,
    void* argument) {
  static const auto next = troupe::ucx::of_libucs<decltype(&ucs_event_set_wait)>("ucs_event_set_wait");
  troupe::ucx::handling all{handler, argument};
  return next(set, events, timeout_ms, &troupe::ucx::read_then_write, &all);
}
