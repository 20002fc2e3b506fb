// Address of a process on the TLS fabric.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/ids.hpp"

namespace troupe {

/// Its seal (seal_address); another byte order reads as another number.
inline constexpr uint64_t tls_address_mark = 0x3153'4c54'5052'5402;

struct tls_address {
  node_id node;
  incarnation_id incarnation;
  uint64_t secret = 0;           ///< the first message of every connection to this process repeats it
  uint64_t epoch = 0;            ///< likewise; counts the incarnations of the node in this process
  std::vector<uint64_t> arenas;  ///< their sizes in bytes
  uint16_t port = 0;
  std::string host;  ///< a name or an address, which the certificate names
};

std::string encode(const tls_address& a);

/// Fills `out` and returns an empty string, or returns the error. Any change of a single byte is detected.
std::string decode(std::string_view bytes, tls_address& out);

}  // namespace troupe
