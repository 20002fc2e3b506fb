#pragma once
#include "policies/batching/deadline_batching.hpp"

namespace patience {

/// A batch waits for a fixed share of the slack of its most urgent request: 0 is eager, 1 waits until the
/// batch must start. Deferred batching waits about as long as 1 when load is low; a smaller share answers
/// sooner with smaller batches.
class patient final : public troupe::deadline_batching {
 public:
  /// Takes `fraction` from the settings.
  patient(const troupe::batching_parameters& p, troupe::shedding rule);

 private:
  troupe::time_point exec_at(const gathered& batch) const override;

  double fraction_;
};

}  // namespace patience
