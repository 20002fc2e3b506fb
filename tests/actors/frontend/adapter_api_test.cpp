#include "actors/frontend/adapter_api.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "tests/actors/frontend/recorded_reply.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// A language model "base" with one engine, and a tensor model "net".
cluster_spec cluster_with_base() {
  cluster_spec c;
  c.llms.emplace_back().name = "base";
  c.llms[0].adapter_api = true;
  c.engines.push_back({llm_id{0}, node_id{0}});
  return c;
}

/// The API of a gateway whose llm_gateway is the test.
class gateway_adapters final : frontend {
 public:
  explicit gateway_adapters(cluster_spec c = cluster_with_base()) : cluster_(std::move(c)) {
    api_.add_to(routes_);
  }

  std::shared_ptr<recorded_reply> post(const char* path, std::string body) {
    auto answer = std::make_shared<recorded_reply>();
    http_request r;
    r.method = "POST";
    r.path = path;
    r.body = std::move(body);
    routes_.handle(std::move(r), http_reply(answer));
    return answer;
  }
  auto load(const std::string& name) {
    return post("/v1/load_lora_adapter", R"({"lora_name": ")" + name + R"(", "lora_path": "/a"})");
  }
  auto unload(const std::string& name) {
    return post("/v1/unload_lora_adapter", R"({"lora_name": ")" + name + R"("})");
  }
  /// The engine has an adapter.
  void add(const std::string& name) {
    adapters_known known;
    known.all = true;
    known.present.push_back({name, "/a"});
    language_models_.update(known);
  }

  std::vector<change_adapter> changes;  ///< that were sent to the llm_gateway
  completion_clients clients;

 private:
  slot_pool& pool() override { throw std::logic_error("adapters need no pool"); }
  const catalog& models() const override { return models_; }
  const llm_catalog& language_models() const override { return language_models_; }
  request_id next_request_id() override { return {}; }
  void to_gateway(actor_message) override {}
  void to_llm_gateway(actor_message m) override { changes.push_back(std::get<change_adapter>(m)); }

  const cluster_spec cluster_;
  catalog models_{{{model_id{0}, "net", {}, 1, {}, 0}}};
  llm_catalog language_models_{cluster_};
  adapter_api api_{cluster_, *this, clients};
  http_router routes_;
};

}  // namespace

TEST_CASE("adapter api: a load goes to the llm_gateway, and its outcome to the client") {
  gateway_adapters a;
  const auto reply = a.load("poet");
  REQUIRE(a.changes.size() == 1);
  CHECK(a.changes[0].load);
  CHECK(a.changes[0].model == llm_id{0});
  CHECK(a.changes[0].adapter == adapter_entry{"poet", "/a"});
  CHECK(reply->status == 0);
  a.clients.adapter_changed({a.changes[0].token, adapter_answer::done, {}});
  CHECK(reply->status == 200);
  CHECK(reply->body == "Success: LoRA adapter 'poet' added successfully.");
}

TEST_CASE("adapter api: an unload is for adapters only") {
  gateway_adapters a;
  CHECK(a.unload("poet")->status == 503);  // no engine has told its adapters yet
  CHECK(a.unload("base")->status == 404);
  CHECK(a.changes.empty());
  a.add("poet");
  CHECK(a.unload("rhyme")->status == 404);
  a.unload("poet");
  REQUIRE(a.changes.size() == 1);
  CHECK_FALSE(a.changes[0].load);
  CHECK(a.changes[0].adapter.name == "poet");
}

TEST_CASE("adapter api: a name that is taken is refused") {
  gateway_adapters a;
  a.add("poet");
  for (const char* name : {"base", "net", "poet"}) CHECK(a.load(name)->status == 400);
  CHECK(a.post("/v1/load_lora_adapter", "{}")->status == 400);
  CHECK(a.changes.empty());
}

TEST_CASE("adapter api: exactly one model of the cluster file must allow it") {
  auto closed = cluster_with_base();
  closed.llms[0].adapter_api = false;
  gateway_adapters none(closed);
  none.add("poet");
  CHECK(none.load("critic")->status == 403);
  CHECK(none.unload("poet")->status == 403);
  auto open = cluster_with_base();
  open.llms.push_back(open.llms[0]);
  open.llms[1].name = "other";
  gateway_adapters two(open);
  CHECK(two.load("critic")->status == 400);
}
