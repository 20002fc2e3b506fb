#include "actors/events.hpp"

#include <utility>

namespace troupe {

shell_message::shell_message(const shell_message&) = default;
shell_message::shell_message(shell_message&&) noexcept = default;
shell_message& shell_message::operator=(const shell_message&) = default;
shell_message& shell_message::operator=(shell_message&&) noexcept = default;
shell_message::~shell_message() = default;

shell_message to_shell_message(wire_message&& m) {
  return std::visit([](auto&& x) -> shell_message { return std::move(x); }, std::move(m));
}

}  // namespace troupe
