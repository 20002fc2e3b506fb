// Exit codes of the commands of `troupe`.
#pragma once

namespace troupe {

inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_bad_input = 2;  ///< or wrong usage

}  // namespace troupe
