#include "policies/llm/pending_generations.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

generation with_tokens(uint64_t id, size_t prompt, size_t progress = 0) {
  generation g;
  g.id = request_id{id};
  g.prompt.resize(prompt);
  if (progress > 0) g.progress.push_back({0, std::vector<llm::token>(progress)});
  return g;
}

using generate_messages = std::vector<std::pair<uint32_t, std::vector<uint64_t>>>;

generate_messages flushed(pending_generations& p) {
  generate_messages out;
  p.flush([&](engine_id to, generate all) {
    out.push_back({to.value, {}});
    for (const auto& g : all.requests) out.back().second.push_back(g.id.value);
  });
  return out;
}

}  // namespace

TEST_CASE("pending generations: the requests of an engine travel together, engines in their order") {
  pending_generations p(3);
  p.add(engine_id{2}, with_tokens(1, 1));
  p.add(engine_id{0}, with_tokens(2, 1));
  p.add(engine_id{2}, with_tokens(3, 1));
  CHECK(flushed(p) == generate_messages{{0, {2}}, {2, {1, 3}}});
  CHECK(flushed(p).empty());
}

TEST_CASE("pending generations: a request that is withdrawn is not sent, nor those of a lost engine") {
  pending_generations p(2);
  CHECK_FALSE(p.withdraw(engine_id{0}, request_id{1}));
  auto offered = with_tokens(1, 1);
  offered.kv.block_tokens = 16;
  p.add(engine_id{0}, offered);
  p.add(engine_id{0}, with_tokens(2, 1));
  p.add(engine_id{1}, with_tokens(3, 1));
  CHECK(p.withdraw(engine_id{0}, request_id{1}) == offered.kv);
  CHECK_FALSE(p.withdraw(engine_id{0}, request_id{1}));
  p.clear(engine_id{1});
  CHECK(flushed(p) == generate_messages{{0, {2}}});
}

TEST_CASE("pending generations: more tokens than a frame holds go in several messages") {
  constexpr size_t most = 1 << 20;
  pending_generations p(1);
  p.add({}, with_tokens(1, most / 2, most / 2));  // progress counts: it fills a frame
  p.add({}, with_tokens(2, 1));
  p.add({}, with_tokens(3, most + 1));  // alone, though it is too large
  p.add({}, with_tokens(4, 1));
  CHECK(flushed(p) == generate_messages{{0, {1}}, {0, {2}}, {0, {3}}, {0, {4}}});
}
