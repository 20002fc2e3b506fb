// Decides how many instances of a disaggregated model prefill, and how many decode (BlitzScale §5.3). Pure.
#pragma once
#include <cstdint>
#include <span>

#include "policies/scaling/scale_rule.hpp"

namespace troupe {

/// A scale rule for each phase, within common bounds.
/// - What decodes has precedence where the instances do not suffice: prompts that nobody decodes are of no
/// use.
/// - When more prefill, as many more decode in proportion, before their sequences are there, as far as there
/// are places
///   (pre-scaling).
/// - At least one of each phase, or none of both.
class phased_rule {
 public:
  struct counts {
    uint32_t prefill = 0, decode = 0;
    uint32_t sum() const { return prefill + decode; }
    bool operator==(const counts&) const = default;
  };
  struct decision {
    counts wanted;
    instance_range prefill, decode;  ///< needed
    scale_reason why = scale_reason::enough;
  };

  /// `max_instances` is at least two.
  explicit phased_rule(const scale_rule::parameters& p);

  /// `prefill`: the loads of what prefills, `decode`: of what decodes. The rest as of a scale_rule.
  decision decide(time_point now, std::span<const resource_load> prefill,
                  std::span<const resource_load> decode, double arriving, const counts& ordered);
  void forget();

 private:
  const scale_rule::parameters parameters_;
  scale_rule prefill_, decode_;
};

}  // namespace troupe
