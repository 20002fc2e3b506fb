// `troupe bench load`: images of a checkpoint in the page cache, from its files to ready, against copying the
// same bytes.
#pragma once
#include <string>

namespace troupe {

struct bench_load_options {
  std::string model;         ///< folder of the checkpoint
  std::string type = "f32";  ///< of the weights in the images
  int repetitions = 7;       ///< the medians are reported
  bool json = false;
};

/// Prints a row or, with `json`, {"rows": [{name, value, unit, reference, ratio}]}: GB/s of images that one
/// thread reads, packs and hashes, beside memcpy by one thread, in turns. Returns 0, or 2 with a message
/// for a folder that cannot be used.
int bench_load(const bench_load_options& options);

}  // namespace troupe
