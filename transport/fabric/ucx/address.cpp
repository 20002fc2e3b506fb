#include "transport/fabric/ucx/address.hpp"

#include <cstring>

#include "transport/fabric/sealed_address.hpp"

namespace troupe {
namespace {

constexpr uint64_t ucx_mark = 0x3158'4355'5052'5402;  // version 2; another byte order reads as another number

struct ucx_fixed_part {
  uint64_t incarnation;
  uint64_t secret;
  uint64_t pool_base;
  uint64_t pool_bytes;
  uint32_t node;
  uint32_t worker_bytes;
  uint32_t key_bytes;
  uint32_t unused;
};

}  // namespace

std::string encode(const ucx_address& a) {
  const ucx_fixed_part h{a.incarnation.value,
                         a.secret,
                         a.pool_base,
                         a.pool_bytes,
                         a.node.value,
                         static_cast<uint32_t>(a.worker.size()),
                         static_cast<uint32_t>(a.pool_key.size()),
                         0};
  std::string content(sizeof h, '\0');
  std::memcpy(content.data(), &h, sizeof h);
  return seal_address(ucx_mark, content.append(a.worker).append(a.pool_key));
}

std::string decode(std::string_view bytes, ucx_address& out) {
  std::string_view content;
  if (auto problem = unseal_address(ucx_mark, bytes, content); !problem.empty()) return problem;
  ucx_fixed_part h;
  if (content.size() < sizeof h) return "its address has the wrong length";
  std::memcpy(&h, content.data(), sizeof h);
  if (sizeof h + size_t{h.worker_bytes} + h.key_bytes != content.size()) {
    return "its address has the wrong length";
  }
  out.node.value = h.node;
  out.incarnation.value = h.incarnation;
  out.secret = h.secret;
  out.pool_base = h.pool_base;
  out.pool_bytes = h.pool_bytes;
  out.worker = content.substr(sizeof h, h.worker_bytes);
  out.pool_key = content.substr(sizeof h + h.worker_bytes);
  return {};
}

}  // namespace troupe
