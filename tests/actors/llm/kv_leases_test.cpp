#include "actors/llm/kv_leases.hpp"

#include "tests/actors/llm/llm_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// A device whose KV cache peers can pull from, or not.
struct leasing_device final : scripted_engine_device {
  llm::kv_cache_memory kv_memory() override { return {memory, offset}; }
  std::vector<std::byte> memory = std::vector<std::byte>(64 * 32);
  std::optional<uint64_t> offset = 4096;
};

std::vector<llm::generation_batch::stopped_choice> one_choice(uint32_t choice, std::vector<uint32_t> blocks,
                                                              size_t positions) {
  std::vector<llm::generation_batch::stopped_choice> out(1);
  out[0].choice = choice;
  out[0].kept.kv.blocks = std::move(blocks);
  out[0].kept.positions = positions;
  return out;
}

struct leases_stage {
  kv_offer add(uint64_t request, std::vector<llm::generation_batch::stopped_choice>& choices,
               time_point now = {}) {
    auto facts = scripted_engine_device::facts(64);
    facts.block_bytes = 32;
    return leases.add(engine_id{7}, request_id{request}, choices, device, facts, now);
  }
  scripted_memory memory{worker_node};
  leasing_device device;
  kv_leases leases{memory};
};

}  // namespace

TEST_CASE("kv leases: an offer names the blocks with keys and values, and one lease for all choices") {
  leases_stage s;
  auto choices = one_choice(0, {5, 2, 9}, 8);  // the third is for the next token
  auto more = one_choice(2, {5, 4}, 5);
  choices.push_back(std::move(more[0]));
  const auto o = s.add(1, choices);
  CHECK(o.lease);
  CHECK(o.engine == engine_id{7});
  CHECK(o.first_block == 4096);
  CHECK(o.block_bytes == 32);
  CHECK(o.block_tokens == 4);
  CHECK(o.parts == std::vector<kv_part>{{0, 8, {5, 2}}, {2, 5, {5, 4}}});
  CHECK(choices[0].kept.kv.blocks.empty());
  CHECK(s.leases.size() == 1);
  CHECK(s.memory.in_use() == 1);
  const auto freed = s.leases.end(o.lease);
  REQUIRE(freed.size() == 2);
  CHECK(freed[0].blocks == std::vector<uint32_t>{5, 2, 9});
  CHECK(s.memory.in_use() == 0);
  CHECK(s.leases.end(o.lease).empty());
}

TEST_CASE("kv leases: nothing is offered, and no block is kept, that peers could not pull") {
  leases_stage s;
  auto nothing = one_choice(0, {}, 0);
  CHECK_FALSE(s.add(1, nothing).lease);
  auto some = one_choice(0, {1}, 3);
  s.device.offset.reset();
  CHECK_FALSE(s.add(1, some).lease);
  CHECK(some[0].kept.kv.blocks.size() == 1);
  s.device.offset = 0;
  scripted_memory full(worker_node, 0);
  kv_leases refused(full);
  CHECK_FALSE(refused.add({}, {}, some, s.device, scripted_engine_device::facts(64), {}).lease);
  CHECK(some[0].kept.kv.blocks.size() == 1);
  CHECK(s.leases.next_expiry() == never);
}

TEST_CASE("kv leases: they end with their engine, before its device gives its memory back") {
  scripted_memory memory(worker_node);
  {
    leasing_device device;
    kv_leases leases(memory);
    auto some = one_choice(0, {1}, 3);
    CHECK(leases.add({}, {}, some, device, scripted_engine_device::facts(64), {}).lease);
    CHECK(memory.in_use() == 1);
  }
  CHECK(memory.in_use() == 0);
}

TEST_CASE("kv leases: they end by request, by time, and all at once") {
  leases_stage s;
  std::vector<kv_offer> offers;
  for (uint64_t i = 0; i < 4; ++i) {
    auto choices = one_choice(0, {static_cast<uint32_t>(i)}, 4);
    offers.push_back(s.add(i, choices, at(static_cast<int>(i))));
  }
  CHECK(s.leases.next_expiry() == at(0) + kv_leases::limit);
  CHECK(s.leases.expire(at(0)).empty());
  CHECK(s.leases.expire(at(1) + kv_leases::limit).size() == 2);
  CHECK(s.leases.end(request_id{2}).front().blocks == std::vector<uint32_t>{2});
  CHECK(s.leases.end(offers[0].lease).empty());
  CHECK(s.leases.end_all().size() == 1);
  CHECK(s.memory.in_use() == 0);
}
