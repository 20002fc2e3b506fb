// `troupe serve PATH...`: serves models without a cluster file, in this process.
#pragma once
#include "tools/commands/served_paths.hpp"

namespace troupe {

struct serve_command {
  serving_options what;
  bool print_config = false;  ///< print the cluster file instead
  bool json = false;          ///< print the ready line as a JSON document, and nothing before it
};

/// Serves as `troupe up` does. Once it is ready, prints a command of curl for each model and the ready line.
/// Returns the exit code; 2 for unusable models, with the problems on standard error. Notes on what has no
/// effect go there, too.
int serve_paths(const serve_command& command);

}  // namespace troupe
