// Envelope of the addresses that processes give to each other: a mark of the format and a checksum.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// `mark` names the format of the content and its version.
std::string seal_address(uint64_t mark, std::string_view content);

/// Sets `content`, which refers into `sealed`, and returns an empty string, or returns the error. Any change
/// of a single byte is detected.
std::string unseal_address(uint64_t mark, std::string_view sealed, std::string_view& content);

}  // namespace troupe
