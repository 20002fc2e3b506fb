// Measures the peak rate of this machine's CPU, as a bound for the speed of models.
#pragma once
#include "messages/common/time.hpp"

namespace troupe {

/// fp32 operations per second (a multiply-add counts 2) of a 512 x 512 x 512 matrix product through oneDNN
/// with packed weights, with the calling thread's number of OpenMP threads: the best of the runs that fit
/// into `budget`, by `c`.
double measure_peak_flops(const clock& c, duration budget);

}  // namespace troupe
