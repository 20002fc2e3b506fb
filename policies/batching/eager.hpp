// Eager batching: what most serving systems do, and the yardstick for deferred batching (Symphony §3.3).
#pragma once
#include "policies/batching/deadline_batching.hpp"

namespace troupe {

/// A batch wants to start as soon as there is one.
class eager final : public deadline_batching {
 public:
  using deadline_batching::deadline_batching;

 private:
  time_point exec_at(const gathered& batch) const override;
};

}  // namespace troupe
