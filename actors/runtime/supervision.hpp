// Handling of exceptions in actors:
//
// - Actors in groups, the node actor, the deployer and the control endpoint hold state that others need. An
//   exception leaves it suspect, so the process ends with exit code `exit_broken`. Its connections break,
//   peers end its incarnation at once, and its supervisor (`troupe up`) restarts it.
// - The console and the metrics actor hold only open queries. They drop these and continue
//   (`survive_exceptions`).
//
// Both cases are logged with the actor and the reason; `survived_exceptions` counts the second one.
#pragma once
#include <caf/error.hpp>
#include <caf/fwd.hpp>
#include <caf/sec.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace troupe {

/// Exit code of a node process (EX_SOFTWARE).
inline constexpr int exit_broken = 70;

/// An exception, with the actor that threw it and the message that it handled.
struct actor_exception : std::runtime_error {
  actor_exception(const std::string& actor, const std::string& message, const std::string& reason)
      : std::runtime_error(actor + " failed on " + message + ": " + reason) {}
};

/// Called with the text of an `actor_exception`, on the thread whose turn threw; once for each actor.
using on_broken = std::function<void(std::string)>;

/// Number of exceptions that actors of this process survived.
uint64_t survived_exceptions();

/// Makes the actor call `broken` and end when it throws.
void report_exceptions(caf::scheduled_actor& actor, on_broken broken);

namespace detail {
void survive(const char* actor, const char* reason);
}

/// A handler that calls `f`. If that throws, the state drops its open work (`forget()`) and continues.
template <class State, class R, class... Ts>
auto survive_exceptions(State* state, R (State::*f)(Ts...)) {
  return [state, f](Ts... xs) -> R {
    try {
      return (state->*f)(std::forward<Ts>(xs)...);
    } catch (const std::exception& e) {
      detail::survive(State::name, e.what());
      state->forget();
      if constexpr (!std::is_void_v<R>) return caf::make_error(caf::sec::runtime_error, e.what());
    }
  };
}

}  // namespace troupe
