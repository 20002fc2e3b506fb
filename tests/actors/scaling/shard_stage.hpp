// A parameter shard with one model.
#pragma once
#include <memory>
#include <vector>

#include "actors/scaling/parameter_shard.hpp"
#include "tests/actors/run_command.hpp"
#include "tests/actors/scaling/image_stage.hpp"

namespace troupe::test {

inline constexpr node_id other_pool{6};

struct shard_parts {
  tiny_image_store store;
  uint32_t notified = 0;
};

/// The pool's node is up.
struct shard_stage : shard_parts, stage<parameter_shard> {
  shard_stage() : stage({worker_node, {12}, role::parameter_shard, 0}, options(), store) {
    run_until(at(1000));
    deliver(node_up{scheduler_node, {10}});
    out.forget();
    run_until(now + 1s);
  }
  parameter_shard::options options() {
    parameter_shard::options o;
    o.pools = {scheduler_node, other_pool};
    o.notify = [this] { ++notified; };
    return o;
  }
  static address link_of(node_id n, uint64_t incarnation = 1) {
    return {n, {incarnation}, role::chain_link, 0};
  }
  void place(node_id from, uint64_t term = 1) { deliver(place_copy{{term}, {0}, from}); }
  void drop(uint64_t term = 1) { deliver(drop_copy{{term}, {0}}); }
  void follow(const address& link, uint64_t number, uint32_t first = 0) {
    deliver(follow_chunks{{0}, number, first}, link);
  }
  void unfollow(const address& link, uint64_t number) { deliver(unfollow_chunks{{0}, number}, link); }
  /// The number of the only order to the own link, which is to follow this node.
  uint64_t begun(node_id from) {
    const auto orders = out.take_addressed<begin_link>();
    REQUIRE(orders.size() == 1);
    CHECK(orders[0].first == address{worker_node, {}, role::chain_link, 0});
    CHECK(orders[0].second.from == from);
    return orders[0].second.order;
  }
  void say(uint64_t order, bool busy, bool linked, node_id from = {}) {
    deliver(link_changed{{0}, order, busy, linked, from, 8, 4});
  }
  /// A chunk is written by somebody else.
  void write_chunk(llm::image_set& images) {
    write_next_chunk(images);
    deliver(images_changed{});
  }
  std::shared_ptr<llm::image_set> images() { return store.find({0}); }
  /// What the pool knows 50 ms later.
  shard_inventory inventory() {
    run_until(now + 50ms);
    const auto all = out.take<shard_inventory>();
    REQUIRE(!all.empty());
    CHECK(all.back().node == worker_node);
    CHECK(all.back().capacity == 1000);
    return all.back();
  }
  /// Of the model.
  image_state told() {
    const auto i = inventory();
    REQUIRE(i.images.size() == 1);
    return i.images[0];
  }
  parameter_shard_state state() { return run_command<parameter_shard_state>(*this, get_state{}); }
};

}  // namespace troupe::test
