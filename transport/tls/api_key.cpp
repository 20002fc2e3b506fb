#include "transport/tls/api_key.hpp"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <charconv>

namespace troupe {

key_digest digest_of(std::string_view key) {
  static_assert(SHA256_DIGEST_LENGTH == std::tuple_size_v<key_digest>);
  key_digest out;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), out.data());
  return out;
}

bool same_key(const key_digest& a, const key_digest& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<key_digest> parse_digest(std::string_view hex) {
  key_digest out;
  if (hex.size() != 2 * out.size()) return {};
  for (size_t i = 0; i < out.size(); ++i) {
    const auto* first = hex.data() + 2 * i;
    const auto [end, error] = std::from_chars(first, first + 2, out[i], 16);
    if (error != std::errc{} || end != first + 2) return {};
  }
  return out;
}

}  // namespace troupe
