// Eager batching, as in most serving systems; the baseline of deferred batching (Symphony §3.3).
#pragma once
#include "policies/batching/deadline_batching.hpp"

namespace troupe {

/// A batch starts as soon as a slot can take it.
class eager final : public deadline_batching {
 public:
  using deadline_batching::deadline_batching;

 private:
  time_point exec_at(const gathered& batch) const override;
};

}  // namespace troupe
