// How many matches a second one rank_arbiter can make: its own ceiling, with nobody else at work.
#pragma once
#include <cstdint>

namespace troupe {

/// A rank_arbiter by itself, in virtual time: `models` of which each always has a batch to run, on `gpus`
/// that end their batches one after the other. A match is all that the arbiter has to do about a batch: the
/// candidate, the grant, its answer, the end of the batch. Returns matches a second of CPU time; takes about
/// half a second.
double arbiter_ceiling(uint32_t models, uint32_t gpus);

}  // namespace troupe
