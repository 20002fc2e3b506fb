#include "transport/fabric/tls/address.hpp"

#include <cstring>

#include "transport/fabric/arenas.hpp"
#include "transport/fabric/sealed_address.hpp"

namespace troupe {
namespace {

struct tls_fixed_part {
  uint64_t incarnation;
  uint64_t secret;
  uint64_t epoch;
  uint32_t node;
  uint16_t port;
  uint16_t arenas;
};

}  // namespace

std::string encode(const tls_address& a) {
  const tls_fixed_part f{a.incarnation.value, a.secret, a.epoch,
                         a.node.value,        a.port,   static_cast<uint16_t>(a.arenas.size())};
  std::string content;
  content.append(reinterpret_cast<const char*>(&f), sizeof f);
  for (const uint64_t size : a.arenas) content.append(reinterpret_cast<const char*>(&size), sizeof size);
  return seal_address(tls_address_mark, content.append(a.host));
}

std::string decode(std::string_view bytes, tls_address& out) {
  std::string_view content;
  if (auto problem = unseal_address(tls_address_mark, bytes, content); !problem.empty()) return problem;
  tls_fixed_part f;
  if (content.size() <= sizeof f) return "its address has the wrong length";
  std::memcpy(&f, content.data(), sizeof f);
  const auto arena_bytes = f.arenas * sizeof(uint64_t);
  if (f.arenas > max_arenas || content.size() <= sizeof f + arena_bytes)
    return "its address has the wrong length";
  if (f.port == 0) return "its address has no TCP port";
  out.node.value = f.node;
  out.incarnation.value = f.incarnation;
  out.secret = f.secret;
  out.epoch = f.epoch;
  out.arenas.resize(f.arenas);
  if (arena_bytes > 0) std::memcpy(out.arenas.data(), content.data() + sizeof f, arena_bytes);
  out.port = f.port;
  out.host = content.substr(sizeof f + arena_bytes);
  if (out.host.find('\0') != std::string::npos) return "its address names no host";
  return {};
}

}  // namespace troupe
