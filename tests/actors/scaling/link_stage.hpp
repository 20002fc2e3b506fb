// A chain link of a node that pulls one model's images.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "actors/scaling/chain_link.hpp"
#include "tests/actors/run_command.hpp"
#include "tests/actors/scaling/image_stage.hpp"

namespace troupe::test {

inline constexpr uint64_t source_offset = 5000;  // of the images in the source's memory

struct link_parts {
  cluster_spec cluster;
  tiny_image_store store;
  scripted_memory memory{worker_node};

  link_parts() {
    cluster.llms.resize(1);
    cluster.llms[0].name = "m";
    for (uint32_t i = 0; i < 6; ++i) cluster.nodes.emplace_back().name = "n" + std::to_string(i);
  }
};

/// A link whose node has empty images of the model, with two sources that are up.
struct link_stage : link_parts, stage<chain_link> {
  /// `flows`: of other links of the node.
  explicit link_stage(uint32_t window = 2,
                      const std::shared_ptr<source_flows>& flows = std::make_shared<source_flows>())
      : stage({worker_node, {12}, role::chain_link, 0}, window, cluster, memory, store, flows) {
    deliver(node_up{first_source, {40}});
    deliver(node_up{second_source, {50}});
  }
  static address shard_of(node_id n) { return {n, {n.value * uint64_t{10}}, role::parameter_shard, 0}; }

  void begin(node_id from) { deliver(begin_link{{0}, from, ++order}); }
  /// Begins, and checks what the source is asked for.
  uint64_t follow(node_id from, uint32_t first = 0) {
    begin(from);
    const auto asked = out.take_addressed<follow_chunks>();
    REQUIRE(asked.size() == 1);
    CHECK(asked[0].first == address{from, {}, role::parameter_shard, 0});
    CHECK(asked[0].second.first == first);
    CHECK(told().linked);
    return asked[0].second.follow;
  }
  void announce(node_id by, uint64_t number, uint32_t first, uint32_t end) {
    chunks_ready c{{0}, number, false, source_offset, first, {}};
    for (auto i = first; i < end; ++i) c.hashes.push_back(hash_of(*images, i));
    deliver(c, shard_of(by));
  }
  /// Chunks that are being pulled.
  std::vector<uint32_t> under_way() const {
    std::vector<uint32_t> out_;
    for (const auto& p : memory.byte_pulls)
      for (uint32_t c = 0; c < tiny_chunks; ++c)
        if (p.offset == source_offset + images->offset_of(c)) out_.push_back(c);
    return out_;
  }
  void end_pull(size_t which = 0, pull_status status = pull_status::ok, bool damaged = false) {
    REQUIRE(which < memory.byte_pulls.size());
    now += pull_time;
    const auto p = memory.byte_pulls[which];
    memory.byte_pulls.erase(memory.byte_pulls.begin() + static_cast<int64_t>(which));
    for (size_t i = 0; status == pull_status::ok && i < p.into.size(); ++i)
      p.into[i] = image_pattern(p.offset - source_offset + i + (damaged ? 1 : 0));
    deliver(pulled{p.token, status});
  }
  void end_all_pulls() {
    while (!memory.byte_pulls.empty()) end_pull();
  }
  /// Numbers of follows that have ended, by the news for the shard of this source.
  std::vector<uint64_t> left(node_id source) {
    std::vector<uint64_t> numbers;
    for (const auto& [to, u] : out.take_addressed<unfollow_chunks>()) {
      CHECK(to == address{source, {}, role::parameter_shard, 0});
      CHECK(u.model == weights_id{0});
      numbers.push_back(u.follow);
    }
    return numbers;
  }
  /// The latest news for the shard.
  link_changed told() {
    const auto all = out.take_addressed<link_changed>();
    REQUIRE(!all.empty());
    CHECK(all.back().first == address{worker_node, {}, role::parameter_shard, 0});
    CHECK(all.back().second.order == order);
    return all.back().second;
  }
  link_state state() {
    const auto s = run_command<chain_link_state>(*this, get_state{});
    REQUIRE(s.links.size() == 1);
    return s.links[0];
  }
  bool images_are_whole() const {
    for (uint32_t c = 0; c < tiny_chunks; ++c)
      if (!std::ranges::equal(images->chunk_memory(c), pattern_of(*images, c))) return false;
    return images->complete();
  }

  std::shared_ptr<llm::image_set> images = store.create({0}, 0);
  uint64_t order = 0;
  duration pull_time{};  ///< after which a pull ends
};

using chunk_numbers = std::vector<uint32_t>;

}  // namespace troupe::test
