// The limit of files and sockets that this process may have open (RLIMIT_NOFILE).
#pragma once
#include <cstdint>
#include <string>

namespace troupe {

/// Raises the soft limit to the hard limit and returns it; the largest number if there is none.
uint64_t raise_file_limit();

/// What is wrong with a limit of `files` for one of `nodes` nodes, or nothing. `node`: for the message.
std::string file_limit_problem(const std::string& node, uint64_t files, size_t nodes);

}  // namespace troupe
