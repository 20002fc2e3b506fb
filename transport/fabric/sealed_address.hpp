// Envelope of the addresses that processes give to each other: a mark of the format and a checksum.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "messages/common/ids.hpp"

namespace troupe {

/// `mark` names the format of the content and its version.
std::string seal_address(uint64_t mark, std::string_view content);

/// Sets `content`, which refers into `sealed`, and returns an empty string, or returns the error. Any change
/// of a single byte is detected.
std::string unseal_address(uint64_t mark, std::string_view sealed, std::string_view& content);

/// Decodes the address of `node`. Fills `out` and returns an empty string, or returns the error.
template <class Address>
std::string address_of(node_id node, std::string_view sealed, Address& out) {
  auto problem = decode(sealed, out);
  if (problem.empty() && out.node != node)
    problem = "its address is that of node " + std::to_string(out.node.value);
  return problem;
}

}  // namespace troupe
