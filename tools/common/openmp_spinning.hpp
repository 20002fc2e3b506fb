// The time that OpenMP's threads spin for each other before they sleep.
#pragma once

namespace troupe {

/// GNU's OpenMP spins 300,000 times, which takes milliseconds: a thread whose peer has lost its core to
/// another process burns its own core instead of giving it to the peer. 1,000 times take some 20 to 50 us,
/// longer than balanced threads wait for each other. The library reads the bound when it is loaded, so a
/// process without one starts itself anew with it. A bound of the environment (GOMP_SPINCOUNT or
/// OMP_WAIT_POLICY) counts. Returns if there is one, or if the process cannot start itself.
void bound_openmp_spinning(char** argv);

}  // namespace troupe
