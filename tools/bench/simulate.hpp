// `troupe bench simulate`: simulated requests per second of wall time.
#pragma once

namespace troupe {

struct bench_simulate_options {
  bool json = false;
};

int bench_simulate(const bench_simulate_options& options);

}  // namespace troupe
