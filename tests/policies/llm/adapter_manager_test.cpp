#include "policies/llm/adapter_manager.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::llm;

namespace {

constexpr time_point change_time{1s};
constexpr address first_gateway{node_id{1}, {11}, role::llm_gateway, 0};
constexpr address second_gateway{node_id{2}, {12}, role::llm_gateway, 0};

uint32_t no_adapter_users(adapter_id) { return 0; }

/// Two slots, and the adapters a and b.
struct two_slots : adapter_manager {
  two_slots() : adapter_manager(2, std::vector<adapter_entry>{{"a", "/a"}, {"b", "/b"}}) {}
  outcome load(const char* name, const address& from = first_gateway, uint64_t token = 7) {
    return change(from, {token, {}, true, {name, std::string("/") + name}}, true, change_time);
  }
  outcome unload(const char* name, const address& from = first_gateway, uint64_t token = 8) {
    return change(from, {token, {}, false, {name, {}}}, true, change_time);
  }
  adapter_id id_of(const char* name) { return find(name)->id; }
  /// The adapter is on the device.
  void bring_in(adapter_id id) {
    REQUIRE(exchange({&id, 1}, no_adapter_users, change_time).load.size() == 1);
    CHECK(on_loaded({id, 3ms, 10, true}, change_time));
  }
};

}  // namespace

TEST_CASE("adapter manager: an adapter is registered and its gateway answered once its files are read") {
  two_slots m;
  const auto asked = m.load("new");
  REQUIRE(asked.read != nullptr);
  CHECK(asked.read->what.path == "/new");
  CHECK_FALSE(asked.answer);
  CHECK(m.find("new") == nullptr);
  CHECK(m.size() == 2);
  const auto id = asked.read->id;
  const auto read = m.on_read(id, {});
  REQUIRE(read.present.size() == 1);
  CHECK(read.present[0].name == "new");
  REQUIRE(read.answer);
  CHECK(read.answer->to == first_gateway);
  CHECK(read.answer->says == adapter_changed{7, adapter_answer::done, {}});
  REQUIRE(m.find("new") != nullptr);
  CHECK(m.size() == 3);
  const auto again = m.on_read(id, {});  // repeated
  CHECK(again.present.empty());
  CHECK_FALSE(again.answer);
}

TEST_CASE("adapter manager: files that are not valid are refused, and free the name") {
  two_slots m;
  const auto id = m.load("new").read->id;
  const auto read = m.on_read(id, "no adapter_config.json");
  CHECK(read.present.empty());
  REQUIRE(read.answer);
  CHECK(read.answer->says == adapter_changed{7, adapter_answer::refused, "no adapter_config.json"});
  CHECK(m.load("new").read != nullptr);
}

TEST_CASE("adapter manager: a change that is not possible is answered at once") {
  two_slots m;
  CHECK(m.load("a").answer->says.answer == adapter_answer::exists);
  CHECK(m.unload("x").answer->says.answer == adapter_answer::unknown);
  m.load("new");
  CHECK(m.load("new").answer->says.answer == adapter_answer::exists);     // it is checked
  CHECK(m.unload("new").answer->says.answer == adapter_answer::unknown);  // not known yet
  const auto early = m.change(first_gateway, {1, {}, true, {"y", "/y"}}, false, change_time);
  CHECK(early.answer->says.message == "the model is not loaded yet");
  adapter_manager none(0, {});
  const auto full = none.change(first_gateway, {1, {}, true, {"y", "/y"}}, true, change_time);
  CHECK(full.answer->says.message == "the engine has no adapter slots");
  CHECK(full.read == nullptr);
}

TEST_CASE(
    "adapter manager: an idle adapter is unregistered at once, and its slot is freed by the next exchange") {
  two_slots m;
  const auto a = m.id_of("a");
  m.bring_in(a);
  CHECK(m.slots_taken() == 1);
  const auto asked = m.unload("a");
  CHECK(asked.gone == std::vector<std::string>{"a"});
  REQUIRE(asked.answer);
  CHECK(asked.answer->says == adapter_changed{8, adapter_answer::done, {}});
  CHECK(m.find(a) == nullptr);
  CHECK(m.exchange_due());
  CHECK(m.exchange({}, no_adapter_users, change_time).unload == std::vector{a});
  CHECK_FALSE(m.exchange_due());
  CHECK(m.slots_taken() == 0);
}

TEST_CASE("adapter manager: an unload is answered when the last request with the adapter has ended") {
  two_slots m;
  const auto a = m.id_of("a");
  m.begin_request(a);
  m.begin_request(a);
  const auto asked = m.unload("a", second_gateway, 5);
  CHECK(asked.gone == std::vector<std::string>{"a"});
  CHECK_FALSE(asked.answer);
  CHECK(m.find("a") == nullptr);
  CHECK(m.unload("a").answer->says.answer == adapter_answer::unknown);
  CHECK_FALSE(m.end_request(a, change_time));
  const auto answer = m.end_request(a, change_time);
  REQUIRE(answer);
  CHECK(answer->to == second_gateway);
  CHECK(answer->says == adapter_changed{5, adapter_answer::done, {}});
  CHECK(m.find(a) == nullptr);
}

TEST_CASE("adapter manager: a name can come back while requests with its old adapter run") {
  two_slots m;
  const auto old = m.id_of("a");
  m.begin_request(old);
  m.unload("a", first_gateway, 5);
  const auto fresh = m.load("a", second_gateway, 6).read->id;
  CHECK(fresh != old);
  m.on_read(fresh, {});
  CHECK(m.id_of("a") == fresh);
  CHECK(m.end_request(old, change_time)->says.token == 5);
  CHECK(m.id_of("a") == fresh);
}

TEST_CASE("adapter manager: an adapter unregistered during its load is unloaded afterwards") {
  two_slots m;
  const auto a = m.id_of("a");
  CHECK(m.exchange({&a, 1}, no_adapter_users, change_time).load == std::vector{a});
  m.unload("a");
  CHECK(m.exchange({}, no_adapter_users, change_time).unload.empty());  // still on its way
  CHECK_FALSE(m.on_loaded({a, 3ms, 10, false}, change_time));
  CHECK(m.exchange({}, no_adapter_users, change_time).unload == std::vector{a});
}

TEST_CASE("adapter manager: a load that failed leaves its problem until one succeeds") {
  two_slots m;
  const auto a = m.id_of("a");
  CHECK(m.exchange({&a, 1}, no_adapter_users, change_time).load == std::vector{a});
  const auto* failed = m.on_failed(a, "cut off");
  REQUIRE(failed != nullptr);
  CHECK(failed->problem == "cut off");
  CHECK(m.slots_taken() == 0);
  CHECK(m.exchange_due());
  m.bring_in(a);  // tried again
  CHECK(m.find(a)->problem.empty());
  CHECK(m.on_failed(adapter_id{99}, "cut off") == nullptr);
  CHECK(m.loads() == 1);
  CHECK(m.reads() == 1);
}

TEST_CASE("adapter manager: half of the slots change hands at a time, rounded up") {
  for (const auto& [slots, limit] : {std::pair{0u, 0u}, {1u, 1u}, {2u, 1u}, {5u, 3u}})
    CHECK(adapter_manager(slots, {}).exchange_limit() == limit);
}

TEST_CASE("adapter manager: its list has the state and the use of each adapter") {
  two_slots m;
  const auto b = m.id_of("b");
  m.bring_in(b);
  m.begin_request(b);
  const auto two_on_device = [&](adapter_id id) { return id == b ? 2u : 0u; };
  const auto all = m.list({}, 10, two_on_device);
  CHECK(all.total == 2);
  REQUIRE(all.adapters.size() == 2);
  CHECK(all.adapters[0].place == "away");
  CHECK(all.adapters[1].name == "b");
  CHECK(all.adapters[1].place == "ready");
  CHECK(all.adapters[1].running == 2);
  CHECK(all.adapters[1].requests_open == 1);
  CHECK(all.adapters[1].loads == 1);
  CHECK(all.adapters[1].last_load == 3ms);
  CHECK(all.adapters[1].bytes == 10);
  CHECK(m.list("a", 10, two_on_device).adapters.size() == 1);
  const adapter_id ids[] = {b, adapter_id{99}, m.id_of("a")};
  CHECK(m.names_of(ids) == std::vector<std::string>{"a", "b"});
  CHECK(m.all().size() == 2);
}

TEST_CASE("adapter manager: the adapters on the device are known by name, and the times of their loads") {
  two_slots m;
  CHECK(m.on_device().empty());
  m.bring_in(m.id_of("b"));
  CHECK(m.on_device() == std::vector<std::string>{"b"});
  m.bring_in(m.id_of("a"));
  CHECK(m.on_device() == std::vector<std::string>{"a", "b"});
  CHECK(m.loads() == 2);
  CHECK(m.load_times().sum() == doctest::Approx(0.006));
}
