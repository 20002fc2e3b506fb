// The depth of an expression's children. It is limited, as evaluation and destruction are recursive.
#pragma once
#include <algorithm>
#include <cstdint>

#include "gpu/chat_template/ast.hpp"

namespace troupe::llm::jinja {

inline uint32_t depth_of(const expression_ptr& e) { return e == nullptr ? 0 : e->depth; }

template <class... expressions>
uint32_t deepest(const expressions&... e) {
  return std::max({uint32_t{0}, depth_of(e)...});
}

inline uint32_t deepest_child(const argument_list& a) {
  uint32_t depth = 0;
  for (const auto& e : a.positional) depth = std::max(depth, depth_of(e));
  for (const auto& [name, e] : a.named) depth = std::max(depth, depth_of(e));
  return depth;
}

inline uint32_t deepest_child(const literal&) { return 0; }
inline uint32_t deepest_child(const name_of&) { return 0; }
inline uint32_t deepest_child(const list_of& n) {
  uint32_t depth = 0;
  for (const auto& e : n.items) depth = std::max(depth, depth_of(e));
  return depth;
}
inline uint32_t deepest_child(const dict_of_pairs& n) {
  uint32_t depth = 0;
  for (const auto& [key, e] : n.items) depth = std::max({depth, depth_of(key), depth_of(e)});
  return depth;
}
inline uint32_t deepest_child(const attribute_of& n) { return depth_of(n.of); }
inline uint32_t deepest_child(const item_of& n) { return deepest(n.of, n.key); }
inline uint32_t deepest_child(const slice_of& n) { return deepest(n.of, n.from, n.to, n.step); }
inline uint32_t deepest_child(const call& n) { return std::max(depth_of(n.callee), deepest_child(n.given)); }
inline uint32_t deepest_child(const filtered& n) { return std::max(depth_of(n.of), deepest_child(n.given)); }
inline uint32_t deepest_child(const tested& n) { return std::max(depth_of(n.of), deepest_child(n.given)); }
inline uint32_t deepest_child(const unary& n) { return depth_of(n.of); }
inline uint32_t deepest_child(const binary& n) { return deepest(n.left, n.right); }
inline uint32_t deepest_child(const logical& n) { return deepest(n.left, n.right); }
inline uint32_t deepest_child(const conditional& n) { return deepest(n.condition, n.yes, n.no); }
inline uint32_t deepest_child(const concatenation& n) {
  uint32_t depth = 0;
  for (const auto& e : n.parts) depth = std::max(depth, depth_of(e));
  return depth;
}
inline uint32_t deepest_child(const comparison& n) {
  auto depth = depth_of(n.first);
  for (const auto& [r, e] : n.others) depth = std::max(depth, depth_of(e));
  return depth;
}

}  // namespace troupe::llm::jinja
