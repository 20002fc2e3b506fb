#include "transport/fabric/ucx/address.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "transport/fabric/arenas.hpp"
#include "transport/fabric/sealed_address.hpp"

namespace troupe {
namespace {

constexpr uint64_t ucx_mark = 0x3158'4355'5052'5404;  // version 4; another byte order reads as another number

struct ucx_fixed_part {
  uint64_t incarnation;
  uint64_t secret;
  uint32_t node;
  uint32_t arenas;
  uint32_t worker_bytes;
  uint32_t unused;
};

/// Its key follows the worker's address, after the keys of earlier ones.
struct ucx_arena_part {
  uint64_t base;
  uint64_t bytes;
  uint64_t key_bytes;
};

template <class Part>
void append(std::string& to, const Part& part) {
  to.append(reinterpret_cast<const char*>(&part), sizeof part);
}

/// Takes bytes from the front of `from`; false: there are fewer.
bool take(std::string_view& from, uint64_t bytes, std::string_view& out) {
  if (from.size() < bytes) return false;
  out = from.substr(0, bytes);
  from.remove_prefix(bytes);
  return true;
}
template <class Part>
bool take(std::string_view& from, Part& out) {
  std::string_view bytes;
  if (!take(from, sizeof out, bytes)) return false;
  std::memcpy(&out, bytes.data(), sizeof out);
  return true;
}

}  // namespace

std::string encode(const ucx_address& a) {
  std::string content;
  append(content,
         ucx_fixed_part{a.incarnation.value, a.secret, a.node.value, static_cast<uint32_t>(a.arenas.size()),
                        static_cast<uint32_t>(a.worker.size()), 0});
  for (const auto& arena : a.arenas)
    append(content, ucx_arena_part{arena.base, arena.bytes, arena.key.size()});
  content += a.worker;
  for (const auto& arena : a.arenas) content += arena.key;
  return seal_address(ucx_mark, std::move(content));
}

std::string decode(std::string_view bytes, ucx_address& out) {
  constexpr const char* wrong_length = "its address has the wrong length";
  std::string_view content, part;
  if (auto problem = unseal_address(ucx_mark, bytes, content); !problem.empty()) return problem;
  ucx_fixed_part h;
  if (!take(content, h) || h.arenas > max_arenas) return wrong_length;
  out.node.value = h.node;
  out.incarnation.value = h.incarnation;
  out.secret = h.secret;
  out.arenas.clear();
  std::vector<ucx_arena_part> arena_parts(h.arenas);
  for (auto& a : arena_parts)
    if (!take(content, a)) return wrong_length;
  if (!take(content, h.worker_bytes, part)) return wrong_length;
  out.worker = part;
  for (const auto& a : arena_parts) {
    if (!take(content, a.key_bytes, part)) return wrong_length;
    out.arenas.push_back({a.base, a.bytes, std::string(part)});
  }
  return content.empty() ? "" : wrong_length;
}

}  // namespace troupe
