#include "actors/frontend/repository_api.hpp"

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "tests/actors/caf_fixture.hpp"
#include "tests/actors/cluster/scripted_deployer.hpp"
#include "tests/actors/frontend/recorded_reply.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// A repository whose files are as slow as the test wants.
struct slow_repository {
  slow_repository()
      : api({fixture.system(),
             {},
             [this](const std::string&, const std::string& json) {
               ++reading;
               std::unique_lock lock(mutex);
               changed.wait_for(lock, std::chrono::seconds(20), [this] { return readable; });
               return repository_api::reading{"", "cannot read " + json};
             },
             [](const std::string&) { return false; }}) {
    api.add_to(router);
  }
  std::shared_ptr<recorded_reply> load(const std::string& body) {
    auto answer = std::make_shared<recorded_reply>();
    http_request r;
    r.method = "POST";
    r.path = "/v2/repository/models/m/load";
    r.body = body;
    router.handle(std::move(r), http_reply(answer));
    return answer;
  }
  void let_read() {
    std::lock_guard lock(mutex);
    readable = true;
    changed.notify_all();
  }
  std::mutex mutex;
  std::condition_variable changed;
  bool readable = false;
  std::atomic<int> reading{0};
  caf_fixture fixture;
  repository_api api;
  http_router router;
};

/// A repository whose deployer never replies.
struct slow_deployer {
  slow_deployer()
      : deployments(system.spawn([this](deployer_protocol::pointer self) { return behavior(self); })),
        api({system, deployments, {}, [](const std::string&) { return false; }, 30s, 50s}) {
    api.add_to(router);
  }
  ~slow_deployer() {
    caf::anon_send_exit(deployments, caf::exit_reason::kill);
    scheduler().run();
  }
  deployer_protocol::behavior_type behavior(deployer_protocol::pointer self) {
    const auto keep = [this, self](const auto&) {
      promises.push_back(self->make_response_promise<change_reply>());
      return promises.back();
    };
    return scripted_deployer([](const control_frame&) {}, keep);
  }
  std::shared_ptr<recorded_reply> load() {
    auto answer = std::make_shared<recorded_reply>();
    http_request r;
    r.method = "POST";
    r.path = "/v2/repository/models/m/load";
    router.handle(std::move(r), http_reply(answer));
    scheduler().run();
    return answer;
  }
  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  }

  stepped_config config;
  caf::actor_system system{config};
  std::vector<caf::typed_response_promise<change_reply>> promises;
  deployer_protocol deployments;
  repository_api api;
  http_router router;
};

constexpr const char* definition = R"({"parameters": {"config": "X"}})";

}  // namespace

TEST_CASE("repository: a definition's files are read on other threads, of a bounded number") {
  slow_repository r;
  std::vector<std::shared_ptr<recorded_reply>> first;
  for (int i = 0; i < 16; ++i) first.push_back(r.load(definition));
  CHECK_FALSE(first[0]->done);
  const auto beyond = r.load(definition);
  REQUIRE(beyond->done);
  CHECK(beyond->status == 503);
  REQUIRE(eventually([&] { return r.reading == 16; }));
  r.let_read();
  for (const auto& a : first) {
    REQUIRE(eventually([&] { return a->done.load(); }));
    CHECK(a->status == 400);
    CHECK(a->body.find("parameters.config: cannot read X") != std::string::npos);
  }
  REQUIRE(eventually([&] {  // then more loads are accepted
    const auto next = r.load(definition);
    return eventually([&] { return next->done.load(); }) && next->status == 400;
  }));
}

TEST_CASE("repository: an invalid body is refused at once") {
  slow_repository r;
  const auto deep = r.load(R"({"parameters":)" + std::string(60'000, '['));
  REQUIRE(deep->done);
  CHECK(deep->status == 400);
  const auto large = r.load(std::string(4'000'000, '['));
  REQUIRE(large->done);
  CHECK(large->status == 413);
}

TEST_CASE("repository: pending changes are answered at once when the node ends") {
  slow_deployer r;
  const auto waiting = r.load();
  CHECK_FALSE(waiting->done);
  caf::anon_send_exit(r.deployments, caf::exit_reason::kill);
  r.scheduler().run();
  REQUIRE(waiting->done);
  CHECK(waiting->status == 503);
  CHECK(waiting->body == R"({"error":"this node is shutting down"})");
}

TEST_CASE("repository: a change may take its own time and the decision time of a new scheduler") {
  slow_deployer r;
  const auto waiting = r.load();
  r.scheduler().advance_time(85s);
  r.scheduler().run();
  CHECK_FALSE(waiting->done);
  r.scheduler().advance_time(10s);
  r.scheduler().run();
  REQUIRE(waiting->done);
  CHECK(waiting->status == 503);
}
