#include "policies/llm/waiting_sequences.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::llm;

namespace {

scheduled_sequence waiting(uint64_t id, uint32_t adapter, int32_t priority = 0) {
  scheduled_sequence s{};
  s.id = sequence_id{id};
  s.arrival = id;
  s.adapter = adapter_id{adapter};
  s.priority = priority;
  return s;
}

}  // namespace

TEST_CASE("waiting sequences: the first is the most urgent that is not late and whose adapter is there") {
  auto a = waiting(1, 5), b = waiting(2, 0), c = waiting(3, 0, -1), d = waiting(4, 5, -2);
  waiting_sequences all;
  loaded_adapters loaded;
  CHECK(all.first(loaded) == nullptr);
  for (auto* s : {&a, &b, &c, &d}) all.add(*s);
  CHECK(std::vector(all.begin(), all.end()) == std::vector{&d, &c, &a, &b});
  CHECK(all.first(loaded) == &c);
  loaded.add(adapter_id{5});
  CHECK(all.first(loaded) == &d);
  d.late = true;
  CHECK(all.first(loaded) == &c);
  all.remove(c);
  all.remove(c);
  CHECK(all.first(loaded) == &a);
  loaded.remove(adapter_id{5});
  CHECK(all.first(loaded) == &b);
  CHECK(all.size() == 3);
}

TEST_CASE("waiting sequences: wanted adapters by urgency, up to a number of absent ones") {
  auto a = waiting(1, 5), b = waiting(2, 0), c = waiting(3, 7), d = waiting(4, 5), e = waiting(5, 6);
  waiting_sequences all;
  loaded_adapters loaded;
  for (auto* s : {&a, &b, &c, &d, &e}) all.add(*s);
  const auto ids = [](std::initializer_list<uint32_t> of) {
    std::vector<adapter_id> out;
    for (const auto i : of) out.push_back(adapter_id{i});
    return out;
  };
  CHECK(all.wanted_adapters(loaded, 9) == ids({5, 7, 6}));
  CHECK(all.wanted_adapters(loaded, 2) == ids({5, 7}));
  loaded.add(adapter_id{5});
  CHECK(all.wanted_adapters(loaded, 1) == ids({5, 7}));
  loaded.add(adapter_id{7});
  loaded.add(adapter_id{6});
  CHECK(all.wanted_adapters(loaded, 1).empty());
  CHECK(adapters_of(all) == ids({5, 6, 7}));
}
