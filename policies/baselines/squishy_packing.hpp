// Which models share which GPUs in Nexus (Shen et al., SOSP 2019, §6.1), a baseline of the Symphony paper.
#pragma once
#include <cstdint>
#include <vector>

#include "messages/tensor/latency.hpp"

namespace troupe {

struct packed_session {
  uint32_t model;
  uint32_t batch;  ///< planned rows
  double rate;     ///< rows a second that it is meant to serve
};
/// By slot: the models that take turns there.
using squishy_plan = std::vector<std::vector<packed_session>>;

struct packing_session {
  latency_model latency;
  duration slo{};                    ///< between arrival and the end of the batch
  double rate = 0;                   ///< rows a second
  uint32_t max_rows = ~uint32_t{0};  ///< a batch
};

/// A model gets whole slots, in the largest batches of which two one after the other meet the SLO, as far as
/// its rate fills them; the rest of the rates share slots, best fit first, in duty cycles: in each cycle
/// every model of the slot runs what arrived during the last. The rates are scaled up or down, all alike, to
/// what `slots` can just take. A model that cannot even run one row in time gets no slot.
squishy_plan squishy_packing(const std::vector<packing_session>& sessions, uint32_t slots);

}  // namespace troupe
