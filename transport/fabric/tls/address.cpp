#include "transport/fabric/tls/address.hpp"

#include <cstring>

#include "transport/fabric/sealed_address.hpp"

namespace troupe {
namespace {

struct tls_fixed_part {
  uint64_t incarnation;
  uint64_t secret;
  uint64_t epoch;
  uint64_t pool_bytes;
  uint32_t node;
  uint32_t port;
};

}  // namespace

std::string encode(const tls_address& a) {
  const tls_fixed_part f{a.incarnation.value, a.secret, a.epoch, a.pool_bytes, a.node.value, a.port};
  std::string content(sizeof f, '\0');
  std::memcpy(content.data(), &f, sizeof f);
  return seal_address(tls_address_mark, content.append(a.host));
}

std::string decode(std::string_view bytes, tls_address& out) {
  std::string_view content;
  if (auto problem = unseal_address(tls_address_mark, bytes, content); !problem.empty()) return problem;
  tls_fixed_part f;
  if (content.size() <= sizeof f) return "its address has the wrong length";
  std::memcpy(&f, content.data(), sizeof f);
  if (f.port == 0 || f.port > 65535) return "its address has no TCP port";
  out.node.value = f.node;
  out.incarnation.value = f.incarnation;
  out.secret = f.secret;
  out.epoch = f.epoch;
  out.pool_bytes = f.pool_bytes;
  out.port = static_cast<uint16_t>(f.port);
  out.host = content.substr(sizeof f);
  if (out.host.find('\0') != std::string::npos) return "its address names no host";
  return {};
}

}  // namespace troupe
