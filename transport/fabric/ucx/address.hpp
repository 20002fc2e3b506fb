// Address of a process on UCX. UCX itself trusts addresses and keys blindly (it often accepts a flipped bit,
// which can end the process later), so they travel under a checksum and are checked before UCX sees them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/ids.hpp"

namespace troupe {

struct ucx_address {
  node_id node;
  incarnation_id incarnation;
  uint64_t secret = 0;  ///< every message to this process repeats it
  /// Registered memory.
  struct arena {
    uint64_t base = 0;  ///< its address in its own process
    uint64_t bytes = 0;
    std::string key;  ///< packed remote key
  };
  std::vector<arena> arenas;
  std::string worker;  ///< UCX worker address
};

std::string encode(const ucx_address& a);

/// Fills `out` and returns an empty string, or returns the error. Any change of a single byte is detected.
std::string decode(std::string_view bytes, ucx_address& out);

}  // namespace troupe
