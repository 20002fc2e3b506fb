#include "transport/fabric/sealed_address.hpp"

#include <fmt/core.h>

#include <cstring>

namespace troupe {
namespace {

/// FNV-1a over words of one byte: every step is a bijection of the state, so a change of one byte always
/// changes the result.
uint64_t checksum(std::string_view bytes) {
  uint64_t h = 0xcbf29ce484222325;
  for (unsigned char c : bytes) h = (h ^ c) * 0x100000001b3;
  return h;
}

struct seal {
  uint64_t mark;
  uint64_t checksum;  ///< of the content
};

}  // namespace

std::string seal_address(uint64_t mark, std::string_view content) {
  const seal s{mark, checksum(content)};
  std::string out(sizeof s, '\0');
  std::memcpy(out.data(), &s, sizeof s);
  return out.append(content);
}

std::string unseal_address(uint64_t mark, std::string_view sealed, std::string_view& content) {
  seal s;
  if (sealed.size() < sizeof s) return fmt::format("its address is truncated ({} bytes)", sealed.size());
  std::memcpy(&s, sealed.data(), sizeof s);
  content = sealed.substr(sizeof s);
  if (s.mark != mark) return "its address is not one of this version of troupe and this transport";
  if (s.checksum != checksum(content)) return "its address is damaged (checksum)";
  return {};
}

}  // namespace troupe
