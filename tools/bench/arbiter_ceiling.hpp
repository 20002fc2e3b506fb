// The highest rate of matches of one rank_arbiter, alone on a core.
#pragma once
#include <cstdint>

namespace troupe {

/// Runs a rank_arbiter in virtual time: `models` always have a batch to run, on `gpus` that end their batches
/// one after the other. A match is all work of the arbiter for a batch: candidate, grant, the answer to it,
/// end of the batch. Returns matches a second of CPU time; takes about half a second.
double arbiter_ceiling(uint32_t models, uint32_t gpus);

}  // namespace troupe
