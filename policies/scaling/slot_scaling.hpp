// Autoscaling of a scheduling domain: samples of its load for the advice
// (policies/scaling/autoscale_advice.hpp), and the slots that go out of service or come back by it.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "policies/scaling/autoscale_advice.hpp"

namespace troupe {

struct service_change {
  slot_id slot;
  bool in = true;  ///< false: it goes out of service
  bool operator==(const service_change&) const = default;
};

class slot_scaling {
 public:
  /// No `spec`: no samples, no advice. `scalable`: the slots that the advice may be applied to.
  slot_scaling(const std::optional<autoscale_spec>& spec, std::set<slot_id> scalable)
      : spec_(spec), scalable_(std::move(scalable)) {}

  /// Another incarnation or term of its arbiter: earlier samples are about another load. An arbiter that may
  /// not grant sees no load (`granting` false), and gets no advice.
  void begin(bool granting);
  /// Null: there is none.
  const scale_advice* advice() const { return advisor_ ? &advisor_->advice() : nullptr; }

  // Load since the last sample.
  void count_requests(uint64_t good, uint64_t bad);
  void count_busy(duration busy) { load_.busy += busy; }

  /// When to call `sample`; `never` without advice.
  time_point next_sample() const { return next_sample_; }
  /// True if the advice is to be applied: call `apply`.
  bool sample(time_point now, uint32_t slots_in_service);
  /// The changes that follow the advice, in their order. Slots that the advice took out come back lowest
  /// first. Scalable slots go out highest first, as the lowest free one is granted first and high ones are
  /// idle; a slot stays if a model has no other slot in service.
  std::vector<service_change> apply(const std::map<slot_id, std::span<const model_id>>& in_service);
  /// An operator decides on this slot from now on: no advice puts it back.
  void release(slot_id slot) { scaled_out_.erase(slot); }

 private:
  std::optional<autoscale_spec> spec_;
  std::set<slot_id> scalable_;
  std::optional<autoscale_advice> advisor_;
  load_sample load_;
  time_point next_sample_ = never;
  std::set<slot_id> scaled_out_;  ///< by the advice
};

}  // namespace troupe
