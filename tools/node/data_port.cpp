#include "tools/node/data_port.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "transport/common/free_port.hpp"

namespace troupe {
namespace {

constexpr duration longest_wait = 75s;  // TIME_WAIT lasts 60 s
constexpr duration pause = 200ms;

std::string text_of(const port_range& ports) {
  return ports.first == ports.last ? fmt::format("{}", ports.first)
                                   : fmt::format("{}-{}", ports.first, ports.last);
}

}  // namespace

void await_data_port(const node_spec& me, const clock& time) {
  const auto& ports = me.data_ports;
  if (ports.first == 0 || has_free_port(ports.first, ports.last)) return;
  spdlog::warn("event=data_port_taken node={} ports={} waiting_up_to_s={}", me.name, text_of(ports),
               to_seconds(longest_wait));
  for (const auto end = time.now() + longest_wait; time.now() < end;) {
    std::this_thread::sleep_for(pause);
    if (has_free_port(ports.first, ports.last)) return;
  }
  throw std::runtime_error(fmt::format(
      "node '{}': data_port: {} is in use on this host; choose a port that no other process uses, or "
      "a range of ports",
      me.name, text_of(ports)));
}

}  // namespace troupe
