#include "transport/fabric/ucx/event_order.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <ucs/sys/event_set.h>
#include <unistd.h>

#include <vector>

namespace {

/// One end of a socket pair, readable and writable, in an epoll set.
struct ready_socket {
  ready_socket() {
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    REQUIRE(::write(ends[1], "x", 1) == 1);
    REQUIRE(ucs_event_set_create(&set) == UCS_OK);
    REQUIRE(ucs_event_set_add(set, ends[0], UCS_EVENT_SET_EVREAD | UCS_EVENT_SET_EVWRITE, this) == UCS_OK);
  }
  ~ready_socket() {
    ucs_event_set_cleanup(set);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void wait() {
    unsigned events = 1;
    const auto handle = [](void* self, ucs_event_set_types_t what, void*) {
      static_cast<ready_socket*>(self)->on_event(what);
    };
    CHECK(ucs_event_set_wait(set, &events, 0, handle, nullptr) == UCS_OK);
  }
  void on_event(unsigned what) {
    told.push_back(what);
    if (what == UCS_EVENT_SET_EVREAD && gone_once_read) CHECK(ucs_event_set_del(set, ends[0]) == UCS_OK);
  }

  int ends[2];
  ucs_sys_event_set_t* set = nullptr;
  bool gone_once_read = false;
  std::vector<unsigned> told;
};

}  // namespace

TEST_CASE("a socket that is ready for both reads, then writes") {
  troupe::ucx::keep_event_order();
  ready_socket s;
  s.wait();
  CHECK(s.told == std::vector<unsigned>{UCS_EVENT_SET_EVREAD, UCS_EVENT_SET_EVWRITE});
}

TEST_CASE("a socket that is removed by its read does not write") {
  ready_socket s;
  s.gone_once_read = true;
  s.wait();
  s.wait();
  CHECK(s.told == std::vector<unsigned>{UCS_EVENT_SET_EVREAD});
}
