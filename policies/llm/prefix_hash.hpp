// Hashes of the blocks of a prompt: each covers all tokens up to the end of its block, and the scope. Engines
// and routers compare them; within an engine tokens decide (prefix_cache.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "messages/llm/token.hpp"
#include "policies/common/random.hpp"

namespace troupe::llm {

/// Hash before the first block. `scope`: generation::cache_scope.
inline uint64_t prefix_seed(std::string_view adapter, std::string_view scope) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const auto& text : {adapter, scope}) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash = splitmix64(hash) ^ text.size();
  }
  return hash;
}

/// Hash of the block with these tokens behind `before`.
inline uint64_t prefix_hash(uint64_t before, std::span<const token> block) {
  uint64_t hash = before;
  for (const auto t : block) {
    hash = (hash ^ static_cast<uint32_t>(t)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return splitmix64(hash);
}

/// Hashes of all full blocks of the tokens.
inline std::vector<uint64_t> prefix_hashes(uint64_t seed, std::span<const token> tokens,
                                           uint32_t block_tokens) {
  std::vector<uint64_t> out;
  out.reserve(tokens.size() / block_tokens);
  for (; tokens.size() >= block_tokens; tokens = tokens.subspan(block_tokens))
    out.push_back(seed = prefix_hash(seed, tokens.first(block_tokens)));
  return out;
}

}  // namespace troupe::llm
