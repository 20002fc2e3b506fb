// What a process tells its peers so that they can reach it over UCX. UCX itself trusts addresses and keys
// blindly (a flipped bit is often accepted, and can end the process later), so they travel under a checksum
// and are looked at before UCX sees them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "messages/common/ids.hpp"

namespace troupe {

struct ucx_address {
  node_id node;
  incarnation_id incarnation;
  uint64_t secret = 0;      ///< every message to this process repeats it
  uint64_t pool_base = 0;   ///< address of the registered pool in its own process
  uint64_t pool_bytes = 0;  ///< 0 = no pool
  std::string worker;       ///< UCX worker address
  std::string pool_key;     ///< packed remote key of the pool
};

std::string encode(const ucx_address& a);

/// Returns what is wrong with the bytes, or nothing and fills `out`. Any change to one byte is found.
std::string decode(std::string_view bytes, ucx_address& out);

}  // namespace troupe
