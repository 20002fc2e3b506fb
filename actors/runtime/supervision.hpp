// What becomes of an actor that throws. By its state:
//
// - Actors, the node actor and the control endpoint hold what others rely on, and an exception leaves it
// suspect:
//   the whole process ends with exit code `exit_broken`, and its connections with it, so that its peers end
//   its incarnation at once. Its supervisor (`troupe up`) restarts it.
// - The console and the metrics actor hold nothing that outlives a query: they forget it and go on, in place
//   (`survive_exceptions`).
//
// Either way it is logged with the actor, the message and the reason; `survived_exceptions` counts the
// latter.
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

/// Of a node process (EX_SOFTWARE).
inline constexpr int exit_broken = 70;

/// An exception, with who threw it over which message.
struct actor_exception : std::runtime_error {
  actor_exception(const std::string& actor, const std::string& message, const std::string& reason)
      : std::runtime_error(actor + " broke over " + message + ": " + reason) {}
};

/// Called with the text of a `breakdown`, from the thread of the actor that threw; once for each actor.
using on_broken = std::function<void(std::string)>;

/// How often an actor of this process threw and went on.
uint64_t survived_exceptions();

/// Has `broken` called if the actor throws; it ends then.
void report_exceptions(caf::scheduled_actor& actor, on_broken broken);

namespace detail {
void survive(const char* actor, const char* reason);
}

/// A handler that calls `f`; if that throws, the state forgets what it was about (`forget()`) and goes on.
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
