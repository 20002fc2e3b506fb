// Squishy bin packing of Nexus: models that share GPUs (Shen et al., SOSP 2019, §6.1), a baseline of the
// Symphony paper.
#pragma once
#include <cstdint>
#include <vector>

#include "messages/tensor/latency.hpp"

namespace troupe {

struct packed_session {
  uint32_t model;
  uint32_t batch;  ///< planned rows
  double rate;     ///< planned rows a second
};
/// By slot: the models that take turns there.
using squishy_plan = std::vector<std::vector<packed_session>>;

struct packing_session {
  latency_model latency;
  duration slo{};                    ///< between arrival and the end of the batch
  double rate = 0;                   ///< rows a second
  uint32_t max_rows = ~uint32_t{0};  ///< maximum rows of a batch
};

/// A model gets whole slots as far as its rate fills them, with the largest batches of which two in a row
/// meet the SLO. The remaining rates share slots, best fit first, in duty cycles: in each cycle every model
/// of the slot runs the arrivals of the previous one. All rates are scaled by one factor so that they just
/// fit into `slots`. A model that cannot run even one row in time gets no slot.
squishy_plan squishy_packing(const std::vector<packing_session>& sessions, uint32_t slots);

}  // namespace troupe
