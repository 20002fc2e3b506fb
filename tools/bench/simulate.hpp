// `troupe bench simulate`: simulated requests and messages per second of CPU time.
#pragma once

namespace troupe {

struct bench_simulate_options {
  bool json = false;
};

int bench_simulate(const bench_simulate_options& options);

}  // namespace troupe
