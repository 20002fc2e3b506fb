#include "policies/llm/prefix_cache.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

#include "policies/llm/prefix_hash.hpp"

namespace troupe::llm {

prefix_cache::prefix_cache(const options& o) : options_(o), blocks_(o.blocks) {
  assert(o.block_tokens > 0);
  if (!o.shares) return;
  nodes_.resize(o.blocks);
  tokens_.resize(size_t{o.blocks} * o.block_tokens);
  table_.assign(std::bit_ceil(std::max(size_t{1}, size_t{o.blocks})), none);
}

uint32_t prefix_cache::find(uint32_t root, uint32_t parent, uint64_t hash,
                            std::span<const token> tokens) const {
  for (auto b = table_[hash & (table_.size() - 1)]; b != none; b = nodes_[b].next) {
    const auto& n = nodes_[b];
    if (n.hash == hash && n.parent == parent && n.root == root && std::ranges::equal(tokens_of(b), tokens))
      return b;
  }
  return none;
}

/// Visits the cached blocks of the first tokens, in their order; returns the number of their tokens.
template <class Visit>
size_t prefix_cache::walk(uint32_t root, const prefix_scope& scope, std::span<const token> tokens,
                          Visit&& visit) const {
  const size_t size = options_.block_tokens;
  auto hash = scope.seed;
  uint32_t parent = none;
  size_t position = 0;
  for (; position + size < tokens.size(); position += size) {
    const auto block = tokens.subspan(position, size);
    hash = prefix_hash(hash, block);
    const auto found = find(root, parent, hash, block);
    if (found == none && !(options_.planted.stale && evicted_.contains(hash))) break;
    if (found != none) visit(found);
    if (found == none) return position + size;  // the planted error ends here
    parent = found;
  }
  return position;
}

size_t prefix_cache::longest(const prefix_scope& scope, std::span<const token> tokens) const {
  const auto known = scopes_.find(scope);
  return known == scopes_.end() ? 0 : walk(known->second, scope, tokens, [](uint32_t) {});
}

size_t prefix_cache::begin(held_blocks& to, const prefix_scope& scope, std::span<const token> tokens) {
  assert(to.blocks.empty());
  if (!options_.shares) return 0;
  to.root = root_of(scope);
  ++roots_[to.root].users;
  return walk(to.root, scope, tokens, [&](uint32_t block) {
    hold(block);
    to.blocks.push_back(block);
    to.path.push_back(block);
  });
}

void prefix_cache::add_block(held_blocks& to) {
  assert(available() > 0);
  if (blocks_.free() == 0) {
    if (options_.planted.freed_in_use)
      if (const auto used = used_block(); used != none) {
        blocks_.share(used);
        to.blocks.push_back(used);
        return;
      }
    if (options_.planted.stale) evicted_.insert(nodes_[oldest_].hash);
    remove(oldest_);
  }
  to.blocks.push_back(blocks_.take());
}

/// If another sequence has published the same content, this one keeps its own block beside it.
void prefix_cache::publish(held_blocks& of, std::span<const token> tokens, size_t positions) {
  const size_t size = options_.block_tokens, full = std::min(positions, tokens.size()) / size;
  if (of.path.size() >= full || of.root == none || of.foreign || roots_[of.root].dropped) return;
  auto parent = of.path.empty() ? none : of.path.back();
  auto hash = parent == none ? roots_[of.root].scope.seed : nodes_[parent].hash;
  while (of.path.size() < full) {
    const auto block = tokens.subspan(of.path.size() * size, size);
    hash = prefix_hash(hash, block);
    auto at = find(of.root, parent, hash, block);
    if (at == none) {
      at = of.blocks[of.path.size()];
      auto& n = nodes_[at];
      if (n.cached) return;  // only with a planted error
      auto& first = table_[hash & (table_.size() - 1)];
      n = {.hash = hash, .parent = parent, .root = of.root, .holders = 1, .next = first, .cached = true};
      first = at;
      std::ranges::copy(block, tokens_.begin() + static_cast<ptrdiff_t>(size_t{at} * size));
      ++roots_[of.root].users;
      if (options_.tells) changes_.push_back({hash, true});
    } else {
      hold(at);
    }
    of.path.push_back(at);
    parent = at;
  }
}

std::vector<uint64_t> prefix_cache::cached() const {
  std::vector<uint64_t> out;
  for (const auto& n : nodes_)
    if (n.cached && !roots_[n.root].dropped) out.push_back(n.hash);
  return out;
}

/// From the last block to the first, so that a block becomes evictable before the one that it continues.
void prefix_cache::release(held_blocks& of) {
  for (auto i = of.blocks.size(); i > of.path.size(); --i) blocks_.give_back(of.blocks[i - 1]);
  for (auto i = of.path.size(); i > 0; --i) {
    if (of.blocks[i - 1] != of.path[i - 1]) blocks_.give_back(of.blocks[i - 1]);
    unhold(of.path[i - 1]);
  }
  if (of.root != none) leave_root(of.root);
  of = {};
}

uint32_t prefix_cache::root_of(const prefix_scope& scope) {
  const auto [at, fresh] = scopes_.try_emplace(scope, none);
  if (!fresh) return at->second;
  if (free_roots_.empty()) {
    free_roots_.push_back(static_cast<uint32_t>(roots_.size()));
    roots_.emplace_back();
  }
  at->second = free_roots_.back();
  free_roots_.pop_back();
  roots_[at->second] = {.scope = scope};
  return at->second;
}

/// The scope is forgotten with its last node and holder.
void prefix_cache::leave_root(uint32_t r) {
  auto& left = roots_[r];
  if (--left.users > 0) return;
  if (!left.dropped) scopes_.erase(left.scope);
  left = {};
  free_roots_.push_back(r);
}

void prefix_cache::hold(uint32_t block) {
  if (nodes_[block].holders++ == 0) unlink(block);
}

void prefix_cache::unhold(uint32_t block) {
  auto& n = nodes_[block];
  if (--n.holders > 0) return;
  n.older = newest_;
  n.newer = none;
  (newest_ == none ? oldest_ : nodes_[newest_].newer) = block;
  newest_ = block;
  ++evictable_;
  if (roots_[n.root].dropped) remove(block);
}

/// Takes a block out of the list of evictable ones.
void prefix_cache::unlink(uint32_t block) {
  auto& n = nodes_[block];
  (n.older == none ? oldest_ : nodes_[n.older].newer) = n.newer;
  (n.newer == none ? newest_ : nodes_[n.newer].older) = n.older;
  --evictable_;
}

/// Frees an evictable block.
void prefix_cache::remove(uint32_t block) {
  unlink(block);
  auto& n = nodes_[block];
  auto* at = &table_[n.hash & (table_.size() - 1)];
  while (*at != block) at = &nodes_[*at].next;
  *at = n.next;
  n.cached = false;
  if (options_.tells) changes_.push_back({n.hash, false});
  blocks_.give_back(block);
  leave_root(n.root);
}

/// Their blocks are freed, now or when their holders release them. One pass over all blocks without holders.
template <class Which>
void prefix_cache::drop_roots(Which&& which) {
  std::vector<uint32_t> dropped;
  std::erase_if(scopes_, [&](const auto& scope) {
    const auto r = scope.second;
    if (!which(r)) return false;
    roots_[r].dropped = true;
    ++roots_[r].users;
    dropped.push_back(r);
    return true;
  });
  if (dropped.empty()) return;
  for (auto b = oldest_; b != none;) {
    const auto next = nodes_[b].newer;
    if (roots_[nodes_[b].root].dropped) remove(b);
    b = next;
  }
  for (const auto r : dropped) leave_root(r);
}

void prefix_cache::drop(adapter_id adapter) {
  drop_roots([&](uint32_t r) { return roots_[r].scope.adapter == adapter; });
}

void prefix_cache::drop_scope(const held_blocks& of) {
  drop_roots([&](uint32_t r) { return r == of.root; });
}

void prefix_cache::drop_all() {
  drop_roots([](uint32_t) { return true; });
}

/// For the planted error: a cached block that a sequence holds.
uint32_t prefix_cache::used_block() const {
  const auto used = std::ranges::find_if(nodes_, [](const node& n) { return n.cached && n.holders > 0; });
  return used == nodes_.end() ? none : static_cast<uint32_t>(used - nodes_.begin());
}

}  // namespace troupe::llm
