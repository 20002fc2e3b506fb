#include "policies/llm/prefix_cache.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "policies/common/random.hpp"
#include "policies/llm/prefix_hash.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

using token_list = std::vector<token>;

prefix_scope scope_named(const std::string& of, uint32_t adapter = 0) {
  return {adapter_id{adapter}, of, prefix_seed(std::to_string(adapter), of)};
}

/// A sequence that has computed all of its tokens.
held_blocks computed(prefix_cache& cache, const token_list& tokens, const prefix_scope& scope = {}) {
  held_blocks out;
  cache.begin(out, scope, tokens);
  while (out.blocks.size() * 4 < tokens.size()) cache.add_block(out);
  cache.publish(out, tokens, tokens.size());
  return out;
}

token_list counting(token first, size_t length) {
  token_list out;
  for (size_t i = 0; i < length; ++i) out.push_back(first + static_cast<token>(i));
  return out;
}

}  // namespace

TEST_CASE("prefix cache: a sequence takes the full blocks that another one began with") {
  prefix_cache cache({.blocks = 16, .block_tokens = 4});
  auto first = computed(cache, counting(1, 10));
  held_blocks second;
  auto tokens = counting(1, 9);
  tokens[8] = 99;
  CHECK(cache.longest({}, tokens) == 8);
  CHECK(cache.begin(second, {}, tokens) == 8);
  CHECK(second.blocks == std::vector(first.blocks.begin(), first.blocks.begin() + 2));
  CHECK(cache.available() == 13);
  cache.release(first);
  CHECK(cache.available() == 14);
  CHECK(cache.evictable() == 0);
  cache.release(second);
  CHECK(cache.available() == 16);
  CHECK(cache.evictable() == 2);
}

TEST_CASE("prefix cache: the last token of a prompt is never taken from the cache") {
  prefix_cache cache({.blocks = 16, .block_tokens = 4});
  auto first = computed(cache, counting(1, 8));
  CHECK(cache.longest({}, counting(1, 8)) == 4);
  CHECK(cache.longest({}, counting(1, 9)) == 8);
  CHECK(cache.longest({}, counting(1, 4)) == 0);
  cache.release(first);
}

TEST_CASE("prefix cache: scopes and adapters share nothing") {
  prefix_cache cache({.blocks = 16, .block_tokens = 4});
  auto held = computed(cache, counting(1, 9), scope_named("a/1", 1));
  CHECK(cache.longest(scope_named("a/1", 1), counting(1, 9)) == 8);
  CHECK(cache.longest(scope_named("a/2", 1), counting(1, 9)) == 0);
  CHECK(cache.longest(scope_named("a/1", 2), counting(1, 9)) == 0);
  CHECK(cache.longest({}, counting(1, 9)) == 0);
  cache.release(held);
}

TEST_CASE("prefix cache: tokens decide, not hashes") {
  prefix_cache cache({.blocks = 16, .block_tokens = 4});
  auto wrong = scope_named("b");
  wrong.seed = scope_named("a").seed;  // all hashes collide
  auto held = computed(cache, counting(1, 9), scope_named("a"));
  auto other = computed(cache, counting(1, 9), wrong);
  CHECK(other.blocks[0] != held.blocks[0]);
  CHECK(cache.longest(wrong, counting(1, 9)) == 8);
  cache.release(held);
  cache.release(other);
}

TEST_CASE("prefix cache: the least recently used block that none continues is evicted") {
  prefix_cache cache({.blocks = 6, .block_tokens = 4});
  auto a = computed(cache, counting(1, 12));
  cache.release(a);
  auto b = computed(cache, counting(101, 12));
  cache.release(b);
  held_blocks other;
  cache.add_block(other);
  CHECK(cache.longest({}, counting(1, 13)) == 8);
  cache.add_block(other);
  CHECK(cache.longest({}, counting(1, 13)) == 4);
  auto again = computed(cache, counting(1, 5));  // its second block replaces the last one of the other
  cache.release(again);
  CHECK(cache.longest({}, counting(1, 13)) == 4);
  CHECK(cache.longest({}, counting(101, 13)) == 8);
  cache.release(other);
  CHECK(cache.available() == 6);
}

TEST_CASE("prefix cache: the same content computed twice stays with its sequences, and one copy is cached") {
  prefix_cache cache({.blocks = 16, .block_tokens = 4});
  held_blocks a, b;
  const auto tokens = counting(1, 8);
  for (auto* h : {&a, &b}) {
    cache.begin(*h, {}, tokens);
    cache.add_block(*h);
    cache.add_block(*h);
  }
  cache.publish(a, tokens, 8);
  cache.publish(b, tokens, 8);
  CHECK(a.path == b.path);
  CHECK(a.blocks != b.blocks);
  cache.release(a);
  CHECK(cache.evictable() == 0);  // the other one's path holds them
  cache.release(b);
  CHECK(cache.evictable() == 2);
  CHECK(cache.available() == 16);
}

TEST_CASE("prefix cache: blocks of a dropped scope are not found, and are freed with their holders") {
  prefix_cache cache({.blocks = 16, .block_tokens = 4});
  const auto one = scope_named("", 1), two = scope_named("", 2);
  auto ended = computed(cache, counting(50, 8), one);
  cache.release(ended);
  auto a = computed(cache, counting(1, 9), one);
  auto b = computed(cache, counting(1, 9), two);
  CHECK(cache.evictable() == 2);
  cache.drop(adapter_id{1});
  CHECK(cache.evictable() == 0);
  CHECK(cache.longest(one, counting(1, 9)) == 0);
  CHECK(cache.longest(two, counting(1, 9)) == 8);
  auto fresh = computed(cache, counting(1, 9), one);  // the scope begins anew
  CHECK(fresh.blocks[0] != a.blocks[0]);
  cache.publish(a, counting(1, 12), 12);  // nothing
  cache.release(a);
  CHECK(cache.evictable() == 0);
  cache.drop_scope(b);
  cache.release(b);
  cache.release(fresh);
  CHECK(cache.evictable() == 2);
  cache.drop_all();
  CHECK(cache.evictable() == 0);
  CHECK(cache.available() == 16);
}

TEST_CASE("prefix cache: without sharing, blocks are free once they are released") {
  prefix_cache cache({.blocks = 4, .block_tokens = 4, .shares = false});
  auto held = computed(cache, counting(1, 9));
  CHECK(cache.available() == 1);
  cache.release(held);
  CHECK(cache.available() == 4);
  CHECK(cache.longest({}, counting(1, 9)) == 0);
}

TEST_CASE("prefix cache: in any order of calls a block has the content of its sequences, and none is lost") {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    random_stream random(seed, "prefix cache");
    const uint32_t blocks = 10 + static_cast<uint32_t>(random.below(40));
    prefix_cache cache({.blocks = blocks, .block_tokens = 4});
    struct open_sequence {
      held_blocks held;
      token_list tokens;
      prefix_scope scope;
    };
    std::vector<open_sequence> open;
    using content = std::pair<std::string, token_list>;  // scope, and all tokens up to the block's end
    std::map<uint32_t, content> written;                 // by block
    const auto content_of = [](const open_sequence& s, size_t block) {
      return content{s.scope.of,
                     token_list(s.tokens.begin(), s.tokens.begin() + static_cast<long>(4 * block + 4))};
    };
    uint64_t hits = 0;
    for (int i = 0; i < 2000; ++i) {
      if (random.below(3) > 0) {
        open_sequence s;
        s.scope = scope_named(std::string(1, static_cast<char>('a' + random.below(3))));
        for (uint64_t n = 4 * (1 + random.below(5)) + random.below(4); n > 0; --n)
          s.tokens.push_back(static_cast<token>(random.below(8) == 0));
        hits += cache.begin(s.held, s.scope, s.tokens);
        for (size_t b = 0; b < s.held.blocks.size(); ++b)
          CHECK(written.at(s.held.blocks[b]) == content_of(s, b));
        if (cache.available() + s.held.blocks.size() < s.tokens.size() / 4) {
          cache.release(s.held);
        } else {
          while (s.held.blocks.size() < s.tokens.size() / 4) {
            cache.add_block(s.held);
            for (const auto& o : open)  // no other sequence has the block
              CHECK(std::ranges::count(o.held.blocks, s.held.blocks.back()) == 0);
            written[s.held.blocks.back()] = content_of(s, s.held.blocks.size() - 1);
          }
          cache.publish(s.held, s.tokens, random.below(s.tokens.size() + 1));
          open.push_back(std::move(s));
        }
      } else if (!open.empty()) {
        auto& s = open[random.below(open.size())];
        cache.publish(s.held, s.tokens, s.tokens.size());
        if (random.below(20) == 0) cache.drop_scope(s.held);
        if (random.below(2) == 0) {
          cache.release(s.held);
          std::swap(s, open.back());
          open.pop_back();
        }
      }
      if (random.below(200) == 0) cache.drop_all();
    }
    for (auto& s : open) cache.release(s.held);
    CHECK(cache.available() == blocks);
    cache.drop_all();
    CHECK(cache.evictable() == 0);
    CHECK(cache.available() == blocks);
    CHECK(hits > 100);
  }
}
