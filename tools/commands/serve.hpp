// `troupe serve PATH...`: serves models without a cluster file, in this process.
#pragma once
#include "tools/commands/served_paths.hpp"

namespace troupe {

struct serve_command {
  serving_options what;
  bool print_config = false;  ///< print the cluster file instead
  bool json = false;          ///< print the ready line as a JSON document, and nothing before it
};

/// Prints a command of curl for each model, and serves as `troupe up` does: the ready line follows. Returns
/// the exit code; 2 for unusable models, with one message to standard error.
int serve_paths(const serve_command& command);

}  // namespace troupe
