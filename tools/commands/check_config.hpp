// `troupe check` and `troupe config dump`. Both return the exit code: 0, or 2 if the file has problems, which
// are written to `err`, one a line: `file:line:col: key: problem and fix`.
#pragma once
#include <iosfwd>
#include <string>

namespace troupe {

/// Reads the files of the models, too. Writes a summary of the cluster in one line, and warnings to `err`.
/// With `json` one document goes to `out`, problems included.
int check_config(const std::string& path, bool json, std::ostream& out, std::ostream& err);

/// Writes every effective value with its origin, as JSON or as TOML that parses to the same cluster.
int dump_config(const std::string& path, bool json, std::ostream& out, std::ostream& err);

}  // namespace troupe
