// `troupe check` and `troupe config dump`. Both return the exit code: 0 done, 2 the file is not right; then
// every problem has been written to `err`, one a line, `file:line:col: key: what is wrong and the fix`.
#pragma once
#include <iosfwd>
#include <string>

namespace troupe {

/// Writes one line that sums the cluster up. With `json` one document goes to `out`, problems included.
int check_config(const std::string& path, bool json, std::ostream& out, std::ostream& err);

/// Writes every effective value with its origin, as TOML that reads back to the same cluster or as JSON.
int dump_config(const std::string& path, bool json, std::ostream& out, std::ostream& err);

}  // namespace troupe
