#include "transport/fabric/ucx/address.hpp"

#include <fmt/core.h>

#include <cstring>

namespace troupe {
namespace {

constexpr uint64_t magic = 0x3158'4355'5052'5402;  // version 2; another byte order reads as another number

/// FNV-1a over words of one byte: every step is a bijection of the state, so a change of one byte always
/// changes the result.
uint64_t checksum(std::string_view bytes) {
  uint64_t h = 0xcbf29ce484222325;
  for (unsigned char c : bytes) h = (h ^ c) * 0x100000001b3;
  return h;
}

struct head {
  uint64_t magic;
  uint64_t checksum;  ///< of all following bytes
  uint64_t incarnation;
  uint64_t secret;
  uint64_t pool_base;
  uint64_t pool_bytes;
  uint32_t node;
  uint32_t worker_bytes;
  uint32_t key_bytes;
  uint32_t unused;
};
constexpr size_t unsummed = offsetof(head, incarnation);

}  // namespace

std::string encode(const ucx_address& a) {
  head h{magic,
         0,
         a.incarnation.value,
         a.secret,
         a.pool_base,
         a.pool_bytes,
         a.node.value,
         static_cast<uint32_t>(a.worker.size()),
         static_cast<uint32_t>(a.pool_key.size()),
         0};
  std::string out(sizeof h, '\0');
  out += a.worker;
  out += a.pool_key;
  std::memcpy(out.data(), &h, sizeof h);
  h.checksum = checksum(std::string_view(out).substr(unsummed));
  std::memcpy(out.data(), &h, sizeof h);
  return out;
}

std::string decode(std::string_view bytes, ucx_address& out) {
  head h;
  if (bytes.size() < sizeof h) return fmt::format("its address is truncated ({} bytes)", bytes.size());
  std::memcpy(&h, bytes.data(), sizeof h);
  if (h.magic != magic) return "its address is not one of this version of troupe";
  if (h.checksum != checksum(bytes.substr(unsummed))) return "its address is damaged (checksum)";
  if (sizeof h + size_t{h.worker_bytes} + h.key_bytes != bytes.size()) {
    return "its address has the wrong length";
  }
  out.node.value = h.node;
  out.incarnation.value = h.incarnation;
  out.secret = h.secret;
  out.pool_base = h.pool_base;
  out.pool_bytes = h.pool_bytes;
  out.worker = bytes.substr(sizeof h, h.worker_bytes);
  out.pool_key = bytes.substr(sizeof h + h.worker_bytes);
  return {};
}

}  // namespace troupe
