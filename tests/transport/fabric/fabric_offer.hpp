// Shared definitions of the processes of the fabric tests.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace troupe::testing {

/// "Pull this region; all its bytes should be `fill`."
struct offer {
  uint64_t round = 0;
  uint64_t incarnation = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t generation = 0;
  uint32_t node = 0;
  uint32_t fill = 0;
};

enum class verdict : uint64_t {
  good,
  stale,    ///< the verification refused the pulled bytes
  foreign,  ///< accepted bytes that were not offered
  lost,
};

struct finding {
  uint64_t round = 0;
  verdict found{};
};

/// "Pull these pages, `page_bytes` each, from `first` on with gaps as large, under this lease; each of their
/// words should be `round`." The owner ends the lease at any time and writes other words.
struct lease_offer {
  uint64_t round = 0;
  uint64_t incarnation = 0;
  uint64_t lease = 0;  ///< offset of its words
  uint64_t generation = 0;
  uint64_t first = 0;
  uint64_t pages = 0;
  uint64_t page_bytes = 0;
};

inline std::string to_hex(const std::string& bytes) {
  std::string out;
  char two[3];
  for (unsigned char c : bytes) {
    std::snprintf(two, sizeof two, "%02x", c);
    out += two;
  }
  return out;
}

inline std::string from_hex(const std::string& hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return out;
}

/// Size of frame i of a stream of mixed sizes, 1 byte to 4 MiB. The content identifies the frame.
inline size_t mixed_size(uint64_t i) {
  if (i % 50 == 49) return 4u << 20;
  if (i % 10 == 9) return 1 + i * 7919 % 300'000;
  return 1 + i * 31 % 9000;
}
inline std::byte mixed_byte(uint64_t i, size_t at) { return static_cast<std::byte>(i * 131 + at / 509 + at); }

}  // namespace troupe::testing
