// actor_of runs a State class as a CAF actor; CAF 0.17.6 has no actor_from_state.
#pragma once
#include <caf/typed_event_based_actor.hpp>
#include <optional>
#include <utility>

namespace troupe {

/// Hosts `State` as a CAF actor. `State` declares `using handle = caf::typed_actor<...>`, `static constexpr
/// const char* name`, a constructor `State(handle::pointer self, args...)` and `make_behavior()`.
/// The state dies when the actor exits, so it may own things that refer back to the actor.
template <class State>
class actor_of final : public State::handle::base {
 public:
  template <class... Ts>
  explicit actor_of(caf::actor_config& cfg, Ts&&... xs)
      : State::handle::base(cfg), state_(std::in_place, this, std::forward<Ts>(xs)...) {}

  typename State::handle::behavior_type make_behavior() override { return state_->make_behavior(); }
  const char* name() const override { return State::name; }
  void on_exit() override { state_.reset(); }
  const State& state() const { return *state_; }

 private:
  std::optional<State> state_;
};

template <class State, class Spawner, class... Ts>
typename State::handle spawn(Spawner& where, Ts&&... xs) {
  return where.template spawn<actor_of<State>>(std::forward<Ts>(xs)...);
}

/// White-box view for tests.
template <class State>
const State& peek(const typename State::handle& h) {
  return dynamic_cast<const actor_of<State>&>(*caf::actor_cast<caf::abstract_actor*>(h)).state();
}
}  // namespace troupe
