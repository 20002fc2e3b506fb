// KV blocks of an engine, with those that sequences share because they begin alike (as in vLLM's automatic
// prefix caching). The cache is a tree of full blocks. A node is found by a hash, but its tokens, its parent
// and its scope decide, so a collision never gives a sequence wrong keys and values.
//
// A block of a sequence is published once a planned step fills it: steps that are planned later may read it,
// and so may other rows of the same step, because a layer writes all keys and values before it reads any. The
// holders of a block keep it. A block without holders stays cached until memory is short; then the least
// recently used one that no other block continues is evicted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "messages/llm/step.hpp"
#include "policies/llm/kv_blocks.hpp"

namespace troupe::llm {

/// Sequences share blocks only within a scope.
struct prefix_scope {
  adapter_id adapter = base_model;
  std::string of;     ///< generation::cache_scope
  uint64_t seed = 0;  ///< prefix_seed of the adapter's name and `of`
  bool operator<(const prefix_scope& o) const { return std::tie(adapter, of) < std::tie(o.adapter, o.of); }
};

/// A cached block became present, or is cached no more.
struct block_change {
  uint64_t hash = 0;
  bool present = false;
};

/// Blocks of a sequence. Only prefix_cache changes them.
struct held_blocks {
  std::vector<uint32_t> blocks;  ///< position p lies in number p / block_tokens
  std::vector<uint32_t> path;    ///< cached blocks with the same content, from the first on
  uint32_t root = UINT32_MAX;    ///< of the scope; UINT32_MAX: its blocks are not shared
  bool foreign = false;  ///< some were computed elsewhere, maybe with other weights: no more are shared
};

class prefix_cache {
 public:
  /// Errors that tests switch on (actors/common/planted_bug.hpp).
  struct faults {
    bool stale = false;         ///< evicted blocks count as cached
    bool freed_in_use = false;  ///< blocks that sequences hold are given to others
  };
  struct options {
    uint32_t blocks = 0;
    uint32_t block_tokens = 16;
    bool shares = true;  ///< false: blocks are free as soon as their sequence releases them
    bool tells = false;  ///< keeps changes until they are taken
    faults planted = {};
  };
  explicit prefix_cache(const options& o);

  uint32_t count() const { return blocks_.count(); }
  /// Cached blocks that no sequence holds.
  uint32_t evictable() const { return evictable_; }
  /// Blocks that `add_block` can take: free and evictable ones.
  uint32_t available() const { return blocks_.free() + evictable_; }

  /// Number of the first tokens whose keys and values are cached: of full blocks, and never the last token,
  /// because a sequence needs its logits.
  size_t longest(const prefix_scope& scope, std::span<const token> tokens) const;
  /// Gives a new sequence the cached blocks of its first tokens. Returns the number of these tokens.
  /// Requires: `to` has no blocks.
  size_t begin(held_blocks& to, const prefix_scope& scope, std::span<const token> tokens);
  /// Adds a block for this sequence alone. Requires: one is available.
  void add_block(held_blocks& to);
  /// Planned steps fill the first `positions` positions of the sequence with these tokens: shares the full
  /// blocks.
  void publish(held_blocks& of, std::span<const token> tokens, size_t positions);
  /// The sequence gives up its blocks.
  void release(held_blocks& of);

  /// Changes since the last call; a block may be in several.
  std::vector<block_change> take_changes() { return std::exchange(changes_, {}); }
  /// The hashes of all cached blocks.
  std::vector<uint64_t> cached() const;

  /// No sequence finds the blocks of the adapter, or of this sequence's scope, any more.
  void drop(adapter_id adapter);
  void drop_scope(const held_blocks& of);
  /// All keys and values are lost.
  void drop_all();

 private:
  static constexpr uint32_t none = UINT32_MAX;

  /// By block. It is a node of the tree if `cached`.
  struct node {
    uint64_t hash = 0;
    uint32_t parent = none;  // none: the first block of its root
    uint32_t root = none;
    uint32_t holders = 0;
    uint32_t older = none, newer = none;  // among evictable ones
    uint32_t next = none;                 // in its bucket
    bool cached = false;
  };
  struct scope_root {
    prefix_scope scope;
    uint32_t users = 0;  // its nodes and holders
    bool dropped = false;
  };

  std::span<const token> tokens_of(uint32_t block) const {
    return std::span(tokens_).subspan(size_t{block} * options_.block_tokens, options_.block_tokens);
  }
  uint32_t find(uint32_t root, uint32_t parent, uint64_t hash, std::span<const token> tokens) const;
  template <class Visit>
  size_t walk(uint32_t root, const prefix_scope& scope, std::span<const token> tokens, Visit&& visit) const;
  uint32_t root_of(const prefix_scope& scope);
  void leave_root(uint32_t r);
  template <class Which>
  void drop_roots(Which&& which);
  void hold(uint32_t block);
  void unhold(uint32_t block);
  void unlink(uint32_t block);
  void remove(uint32_t block);
  uint32_t used_block() const;

  const options options_;
  kv_blocks blocks_;
  std::vector<node> nodes_;      // by block
  std::vector<token> tokens_;    // of nodes, by block
  std::vector<uint32_t> table_;  // first node of each bucket
  uint32_t oldest_ = none, newest_ = none, evictable_ = 0;
  std::map<prefix_scope, uint32_t> scopes_;
  std::vector<scope_root> roots_;
  std::vector<uint32_t> free_roots_;
  std::vector<block_change> changes_;
  std::unordered_set<uint64_t> evicted_;  // hashes, for `faults::stale`
};

}  // namespace troupe::llm
