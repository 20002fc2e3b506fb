#include "actors/runtime/events.hpp"

#include <utility>

namespace troupe {

actor_message::actor_message(const actor_message&) = default;
actor_message::actor_message(actor_message&&) noexcept = default;
actor_message& actor_message::operator=(const actor_message&) = default;
actor_message& actor_message::operator=(actor_message&&) noexcept = default;
actor_message::~actor_message() = default;

actor_message to_actor_message(wire_message&& m) {
  return std::visit([](auto&& x) -> actor_message { return std::move(x); }, std::move(m));
}

}  // namespace troupe
