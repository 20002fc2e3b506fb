// The stages of one engine, and the orders that move it between them.
//
//   idle → loading → serving → draining → parked → idle
//
// A loading engine can be stopped, a draining or parked one can serve again at once.
#pragma once
#include "messages/llm/instance_stage.hpp"

namespace troupe {

class instance_lifecycle {
 public:
  enum class action { none, load, unload };

  /// An engine of a model that does not scale loads at once, and stays.
  explicit instance_lifecycle(bool scales)
      : stage_(scales ? instance_stage::idle : instance_stage::loading),
        wanted_(scales ? instance_stage::idle : instance_stage::serving) {}

  instance_stage stage() const { return stage_; }
  /// To serving, parked or idle. Others are ignored.
  void order(instance_stage to) {
    if (to != instance_stage::loading && to != instance_stage::draining) wanted_ = to;
  }
  /// All weights are loaded.
  void on_loaded() {
    if (stage_ == instance_stage::loading) stage_ = instance_stage::serving;
  }
  /// Takes the next steps on the way to the wanted stage. `empty`: nothing uses the weights, neither requests
  /// nor the device. The action is to be carried out at once.
  action advance(bool empty) {
    using enum instance_stage;
    if (wanted_ == serving) {
      if (stage_ == draining || stage_ == parked) stage_ = serving;
      if (stage_ != idle) return action::none;
      stage_ = loading;
      return action::load;
    }
    if (stage_ == serving) stage_ = draining;
    if (stage_ == draining && empty) stage_ = parked;
    const bool gives_up = stage_ == loading || (stage_ == parked && wanted_ == idle && empty);
    if (!gives_up) return action::none;
    stage_ = idle;
    return action::unload;
  }

 private:
  instance_stage stage_, wanted_;
};

}  // namespace troupe
