// Files of tensor models: the shard that wants them, and the pool that orders them.
#include "actors/scaling/parameter_shard.hpp"
#include "tests/actors/scaling/image_stage.hpp"
#include "tests/actors/scaling/pool_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr auto files_of_7 = weights_of(model_id{7});
constexpr uint32_t tensor_link = 2;

struct files_parts {
  tiny_image_store store;
};

/// A shard of a node in domain 1, whose models 7 and 8 share their files.
struct files_stage : files_parts, stage<parameter_shard> {
  files_stage() : stage({worker_node, {12}, role::parameter_shard, 0}, options(), store) {
    run_until(at(1000));
    deliver(node_up{scheduler_node, {10}});
    run_until(now + 1s);
    out.forget();
  }
  static parameter_shard::options options() {
    parameter_shard::options o;
    o.pools = {scheduler_node};
    o.notify = [] {};
    o.files_link = tensor_link;
    o.files_of = [](model_id m) { return m == model_id{8} ? files_of_7 : weights_of(m); };
    o.domain = 1;
    o.patience = 5s;
    return o;
  }
  static deployment line_of(uint32_t model, uint32_t domain = 1) {
    deployment line{1, model_id{model}, deployment_state::deployed, {}, domain};
    line.definition.name = "m" + std::to_string(model);
    line.definition.path = "/models/m.onnx";
    return line;
  }
  void assign(uint32_t model) { deliver(model_change{line_of(model)}); }
  void take_away(uint32_t model) { deliver(model_change{line_of(model, 0)}); }
  void place(node_id from, uint64_t bytes = 0) { deliver(place_copy{{1}, files_of_7, from, bytes}); }
  /// Models that the deployer is to load.
  std::vector<uint32_t> settled() {
    std::vector<uint32_t> models;
    for (const auto& [to, s] : out.take_addressed<files_settled>()) {
      CHECK(to == address{worker_node, {}, role::deployer, 0});
      models.push_back(s.model.value);
    }
    return models;
  }
  std::vector<image_state> told() {
    run_until(now + 50ms);
    const auto all = out.take<shard_inventory>();
    REQUIRE(!all.empty());
    return all.back().images;
  }
  std::shared_ptr<llm::image_set> images() { return store.find(files_of_7); }
  void write_chunk() {
    write_next_chunk(*images());
    deliver(images_changed{});
  }
};

using models = std::vector<uint32_t>;

}  // namespace

TEST_CASE("model files: a shard wants those of its models, and the model is loaded when they have come") {
  files_stage s;
  s.store.bytes_on_disk = 64;
  s.assign(7);
  CHECK(s.store.located == std::vector<std::string>{"/models/m.onnx"});
  CHECK(s.settled().empty());
  auto told = s.told();
  REQUIRE(told.size() == 1);
  CHECK(told[0].model == files_of_7);
  CHECK(told[0].chunks == 0);
  CHECK(told[0].bytes == 0);
  CHECK(told[0].on_disk == 64);
  CHECK_FALSE(told[0].filling);
  s.place(first_source, 128);
  const auto orders = s.out.take_addressed<begin_link>();
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].first == address{worker_node, {}, role::chain_link, tensor_link});
  CHECK(orders[0].second.model == files_of_7);
  CHECK(s.images()->bytes() == 128);
  told = s.told();
  CHECK(told[0].bytes == 128);
  CHECK(told[0].from == first_source);
  while (!s.images()->complete()) {
    CHECK(s.settled().empty());
    s.write_chunk();
  }
  CHECK(s.settled().empty());  // the link has not said how many bytes came
  s.deliver(link_changed{files_of_7, orders[0].second.order, false, false, {}, 128, 0});
  CHECK(s.settled() == models{7});
  CHECK(s.told()[0].complete());
  s.assign(7);  // a line with another domain that it leaves or joins
  CHECK(s.settled() == models{7});
  s.take_away(7);
  CHECK(s.told().empty());
  CHECK(s.images() == nullptr);
}

TEST_CASE("model files: models that share them want them once, until none is left") {
  files_stage s;
  s.store.bytes_on_disk = 64;
  s.assign(7);
  s.assign(8);
  CHECK(s.told().size() == 1);
  s.place(worker_node);
  REQUIRE(s.store.reads.size() == 1);
  while (!s.images()->complete()) s.write_chunk();
  CHECK(s.settled() == models{7, 8});
  s.take_away(7);
  CHECK(s.images() != nullptr);
  s.take_away(8);
  s.store.reads.clear();
  CHECK(s.images() == nullptr);
}

TEST_CASE("model files: the disk is read without an order, without progress, and without room") {
  files_stage s;
  s.assign(7);
  SUBCASE("no order") {
    s.run_until(s.now + 4999ms);
    CHECK(s.settled().empty());
    s.run_until(s.now + 2ms);
  }
  SUBCASE("no progress") {
    s.run_until(s.now + 4s);
    s.place(first_source, 128);
    s.run_until(s.now + 4s);
    s.write_chunk();
    s.run_until(s.now + 4s);
    CHECK(s.settled().empty());
    s.run_until(s.now + 1001ms);
    CHECK(s.out.take<end_link>().size() == 1);
  }
  SUBCASE("no room") {
    s.store.full = true;
    s.place(first_source, 128);
  }
  SUBCASE("the reader fails") {
    s.store.bytes_on_disk = 64;
    s.place(worker_node);
    s.images()->fail("gone");
    s.deliver(images_changed{});
  }
  CHECK(s.settled() == models{7});
  CHECK(s.told().empty());
  s.place(first_source, 128);  // too late
  CHECK(s.images() == nullptr);
  s.run_until(s.now + 50ms);
  for (const auto& i : s.out.take<shard_inventory>()) CHECK(i.images.empty());
  s.assign(7);  // with another domain
  CHECK(s.settled() == models{7});
  s.take_away(7);
  s.assign(7);
  CHECK(s.told().size() == 1);
}

TEST_CASE("model files: those of another size replace a part that had come") {
  files_stage s;
  s.assign(7);
  s.place(first_source, 128);
  s.write_chunk();
  const auto former = s.images();  // as the link does that writes to them
  s.out.forget();
  s.place(first_source, 192);
  CHECK(s.images() != former);
  CHECK(s.images()->bytes() == 192);
  CHECK(s.out.take<begin_link>().size() == 1);
  CHECK(s.told()[0].ready == 0);
}

TEST_CASE("model files: nodes that keep none, and models without files, are left alone") {
  files_stage s;
  auto line = files_stage::line_of(7);
  line.definition.path.clear();
  s.deliver(model_change{line});
  line = files_stage::line_of(7, 0);
  s.deliver(model_change{line});
  CHECK(s.settled().empty());
  s.place(first_source, 128);
  s.deliver(drop_copy{{1}, files_of_7});
  CHECK(s.images() == nullptr);
}

TEST_CASE("model files: the pool orders them from the disk of one node for all that want them") {
  pool_stage s;
  s.start();
  s.run(1s);
  const auto wants = [&](uint32_t n, uint64_t on_disk) {
    image_state i;
    i.model = files_of_7;
    i.on_disk = on_disk;
    s.workers.at(n).images.push_back(i);
    s.report(n);
  };
  const auto placed = [&] {
    s.run_until(s.now + 20ms);
    std::vector<std::tuple<uint32_t, uint32_t, uint64_t>> all;
    for (const auto& [to, o] : s.out.take_addressed<place_copy>())
      if (o.model == files_of_7) all.emplace_back(to.node.value, o.from.value, o.bytes);
    return all;
  };
  s.out.forget();
  wants(3, 0);
  CHECK(placed().empty());  // it cannot read them
  wants(4, 640);
  CHECK(placed() == std::vector<std::tuple<uint32_t, uint32_t, uint64_t>>{{4, 4, 0}, {3, 4, 640}});
  auto& third = s.workers.at(3).images;
  std::erase_if(third, [](const image_state& i) { return i.model == files_of_7; });  // undeployed
  s.report(3);
  s.run_until(s.now + 2s);
  for (const auto& [to, o] : s.out.take_addressed<place_copy>()) CHECK(to.node != node_id{3});
  CHECK(s.out.take<drop_copy>().empty());
}
