#include "actors/cluster/control_middleman.hpp"

#include <doctest/doctest.h>

#include <caf/all.hpp>
#include <chrono>
#include <set>
#include <string>

#include "actors/runtime/system_config.hpp"
#include "messages/common/time.hpp"
#include "tests/deaf_listener.hpp"

using namespace troupe;

namespace {

struct middleman_config final : threaded_config {
  middleman_config() : threaded_config(1) { prepare_control_lane(*this); }
};

/// The error of a dial, and none if there is no answer in that time.
caf::error error_of_dial(uint16_t port, std::chrono::seconds within) {
  const machine_clock time;
  middleman_config config;
  caf::actor_system system(config);
  const control_middleman middleman(system, nullptr, time);
  caf::scoped_actor self(system);
  caf::error problem;
  self->request(middleman.dialler(), within, caf::connect_atom_v, std::string("127.0.0.1"), port)
      .receive([](const caf::node_id&, const caf::strong_actor_ptr&, const std::set<std::string>&) {},
               [&](caf::error& e) { problem = std::move(e); });
  return problem;
}

}  // namespace

TEST_CASE("control middleman: a dial to a closed port is refused") {
  CHECK(error_of_dial(closed_port(), 10s) == control_middleman::refused);
}

TEST_CASE("control middleman: a host that is cut off delays neither a dial nor the end of the process") {
  deaf_listener deaf(0);
  deaf.fill();
  const auto began = std::chrono::steady_clock::now();
  CHECK(error_of_dial(deaf.port(), 20s) == caf::sec::connection_timeout);
  CHECK(std::chrono::steady_clock::now() - began < 15s);
}
