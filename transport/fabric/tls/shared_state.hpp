// State that the connections of a TLS fabric share.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "transport/fabric/arenas.hpp"
#include "transport/fabric/fabric_counters.hpp"
#include "transport/fabric/fabric_options.hpp"
#include "transport/fabric/tls/channel.hpp"

namespace troupe::tls {

struct shared_state {
  const fabric_options& options;
  const int epoll;
  arenas memory{};                      ///< this process's own
  std::atomic<uint64_t> epoch{1};       ///< connections of earlier ones are refused
  fabric_events* events = nullptr;      ///< null: the fabric is stopping
  bool attention = false;               ///< a connection has broken since this was cleared
  std::vector<endpoint*> unwritten{};   ///< with something to write
  std::vector<endpoint*> unfinished{};  ///< with more to do, although no descriptor may say so
  uint64_t moved = 0;                   ///< bytes of all connections
  fabric_counters count{};

  void write_soon(endpoint& e) {
    if (!std::exchange(e.in_unwritten, true)) unwritten.push_back(&e);
  }
  void call_again(endpoint& e) {
    if (!std::exchange(e.in_unfinished, true)) unfinished.push_back(&e);
  }
  void forget(endpoint& e) {
    if (e.in_unwritten) std::erase(unwritten, &e);
    if (e.in_unfinished) std::erase(unfinished, &e);
  }
};

}  // namespace troupe::tls
