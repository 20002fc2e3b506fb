// Execution of a command (messages/common/commands.hpp) by an actor: its JSON is checked against the actor's
// protocol, and a handler of the actor returns the reply.
#pragma once
#include <stdexcept>
#include <string>
#include <type_traits>

#include "messages/cluster/membership.hpp"
#include "messages/common/commands.hpp"
#include "messages/common/json_text.hpp"
#include "messages/common/parse_json.hpp"
#include "messages/wire/json.hpp"

namespace troupe {

/// Thrown by a handler that refuses its command: `what()` becomes the reply.
struct command_refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Parses `c.argument`, a JSON object; empty stands for {}. Throws json_error.
inline nlohmann::json fields_of(const command& c) {
  if (c.argument.empty()) return nlohmann::json::object();
  auto fields = parse_json(c.argument);
  if (fields.is_discarded()) throw json_error(c.verb + ": its fields are not JSON, or are nested too deeply");
  return fields;
}

/// A missing `token` is 0; the reply carries that of `c`. Throws json_error.
template <class C>
C message_of(const command& c) {
  auto fields = fields_of(c);
  if constexpr (requires(C x) { x.token; })
    if (fields.is_object() && !fields.contains("token")) fields["token"] = uint64_t{0};
  return from_json<C>(fields);
}

/// "there is no command 'x'; the actor takes: a, b".
template <class... Es>
std::string unknown_command(type_list<Es...>, const std::string& verb) {
  std::string known;
  ((known += (known.empty() ? "" : ", ") + std::string(Es::command::type_name)), ...);
  return "there is no command '" + verb + "'; the actor takes: " + known;
}

/// Throws json_error or command_refused unless `c` is a command of the protocol.
template <class... Es>
void check_command(type_list<Es...> protocol, const command& c) {
  [[maybe_unused]] const auto one = [&]<class E>(std::type_identity<E>) {
    if (c.verb != E::command::type_name) return false;
    message_of<typename E::command>(c);
    return true;
  };
  if (!(one(std::type_identity<Es>{}) || ...)) throw command_refused(unknown_command(protocol, c.verb));
}

/// Empty if `c` is a command of the protocol; else one sentence: the path of a field and the values that it
/// takes, or the known commands.
template <class... Es>
std::string problem_with(type_list<Es...> protocol, const command& c) {
  try {
    check_command(protocol, c);
    return {};
  } catch (const json_error& e) {
    return e.what();
  } catch (const command_refused& e) {
    return e.what();
  }
}

/// Executes `c`: `handle(command)` returns the reply of its exchange. An error of the command, or a refusal,
/// becomes a reply that is not `ok`.
template <class... Es, class Handle>
command_reply run_command(type_list<Es...> protocol, const command& c, Handle&& handle) {
  command_reply out{c.token, false, {}};
  [[maybe_unused]] const auto one = [&]<class E>(std::type_identity<E>) {
    if (c.verb != E::command::type_name) return false;
    const typename E::reply reply = handle(message_of<typename E::command>(c));
    out.body = json_text(to_json(reply));
    out.ok = true;
    return true;
  };
  try {
    if (!(one(std::type_identity<Es>{}) || ...)) out.body = unknown_command(protocol, c.verb);
  } catch (const json_error& e) {
    out.body = e.what();
  } catch (const command_refused& e) {
    out.body = e.what();
  }
  return out;
}

}  // namespace troupe
