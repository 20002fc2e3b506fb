#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// FNV-1a with 64 bits. It detects mistakes, not forgery.
class fingerprint {
 public:
  void add(std::string_view bytes) {
    for (const unsigned char c : bytes) state_ = (state_ ^ c) * 0x100000001b3;
  }
  std::string hex() const {
    std::string out(16, '0');
    for (size_t i = 0; i < 16; ++i) out[i] = "0123456789abcdef"[state_ >> (60 - 4 * i) & 15];
    return out;
  }

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace troupe
