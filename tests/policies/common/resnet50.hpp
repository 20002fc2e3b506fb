// ResNet50 as in the papers: a batch takes 5 ms and 1 ms a row; the SLO is 25 ms.
#pragma once
#include "policies/batching/batching.hpp"

namespace troupe::test {

inline constexpr latency_model resnet50_latency{1053us, 5072us};

inline batching_parameters resnet50(uint32_t slots = 1) {
  batching_parameters p;
  p.latency = resnet50_latency;
  p.slo = 25ms;
  p.slots = slots;
  return p;
}

}  // namespace troupe::test
