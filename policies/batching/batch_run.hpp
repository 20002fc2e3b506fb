// Run of a batch on a device.
#pragma once
#include <utility>

namespace troupe {

/// State of the batch that a device runs: at most one at a time. It may be asked to stop, and it is void if
/// its node has begun a new incarnation since its start.
class batch_run {
 public:
  bool active() const { return active_; }
  bool stopping() const { return stopping_; }
  bool is_void() const { return void_; }

  void start() { active_ = true; }
  /// The device was asked to stop the batch.
  void stop() { stopping_ = true; }
  /// The node begins a new incarnation.
  void start_over() { void_ = active_; }
  /// The device has ended the batch. Returns whether it is void.
  bool end() {
    active_ = stopping_ = false;
    return std::exchange(void_, false);
  }

 private:
  bool active_ = false, stopping_ = false, void_ = false;
};

}  // namespace troupe
