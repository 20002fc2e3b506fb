#include "policies/scaling/phased_rule.hpp"

#include <algorithm>

namespace troupe {
namespace {

scale_rule::parameters of_phase(scale_rule::parameters p) {
  p.min_instances = std::min(p.min_instances, 1u);
  p.max_instances -= 1;
  return p;
}

}  // namespace

phased_rule::phased_rule(const scale_rule::parameters& p)
    : parameters_(p), prefill_(of_phase(p)), decode_(of_phase(p)) {}

void phased_rule::forget() {
  prefill_.forget();
  decode_.forget();
}

phased_rule::decision phased_rule::decide(time_point now, std::span<const resource_load> prefill,
                                          std::span<const resource_load> decode, double arriving,
                                          const counts& ordered) {
  const auto p = prefill_.decide(now, prefill, arriving, ordered.prefill);
  const auto d = decode_.decide(now, decode, arriving, ordered.decode);
  decision out{{p.instances, d.instances}, p.needed, d.needed, p.why};
  auto& [of_prefill, of_decode] = out.wanted;
  if (out.wanted.sum() > 0) of_prefill = std::max(of_prefill, 1u), of_decode = std::max(of_decode, 1u);
  of_decode = std::min(of_decode, parameters_.max_instances - 1);
  of_prefill = std::min(of_prefill, parameters_.max_instances - of_decode);
  if (of_prefill > ordered.prefill && ordered.prefill > 0) {
    const auto as_many = (ordered.decode * of_prefill + ordered.prefill - 1) / ordered.prefill;
    of_decode = std::max(of_decode, std::min(as_many, parameters_.max_instances - of_prefill));
  }
  if (out.wanted.sum() < parameters_.min_instances) out.wanted = ordered;
  if (d.why == scale_reason::above || p.why == scale_reason::enough) out.why = d.why;
  return out;
}

}  // namespace troupe
