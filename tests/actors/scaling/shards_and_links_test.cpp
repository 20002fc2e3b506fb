// Shards and links of some nodes together, with random orders, deaths and delays.
#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "actors/scaling/chain_link.hpp"
#include "actors/scaling/parameter_shard.hpp"
#include "policies/common/random.hpp"
#include "tests/actors/scaling/image_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr uint32_t chain_nodes = 4;
constexpr node_id chain_pool{9};

struct chain_node {
  chain_node(node_id id, incarnation_id incarnation_, outbox& out, const cluster_spec& cluster,
             std::function<void()> notify)
      : incarnation(incarnation_),
        memory(id),
        shard({id, incarnation_, role::parameter_shard, 0}, out, options(std::move(notify)), store),
        link({id, incarnation_, role::chain_link, 0}, out, 2, cluster, memory, store,
             std::make_shared<source_flows>()) {}
  static parameter_shard::options options(std::function<void()> notify) {
    parameter_shard::options o;
    o.pools = {chain_pool};
    o.notify = std::move(notify);
    return o;
  }
  std::vector<actor*> actors() { return {&shard, &link}; }

  const incarnation_id incarnation;
  tiny_image_store store;
  scripted_memory memory;
  parameter_shard shard;
  chain_link link;
};

class chain_world final : public outbox {
 public:
  explicit chain_world(uint64_t seed) : random_(seed, "chains") {
    cluster_.llms.resize(1);
    cluster_.nodes.resize(chain_nodes);
    nodes_.resize(chain_nodes);
    for (uint32_t n = 0; n < chain_nodes; ++n) begin(n);
  }
  void send(const address& from, const address& to, actor_message message) override {
    mail_[{from.node.value, from.kind, to.node.value, to.kind}].push_back({from, to, std::move(message)});
  }

  /// One random event, and then whatever is due.
  void step(bool with_trouble) {
    now_ += 1ms;
    const auto n = random_.below(chain_nodes);
    const auto what = random_.below(100);
    if (what < 60) {
      deliver_some_mail();
    } else if (what < 75) {
      end_a_pull(*nodes_[n], with_trouble);
    } else if (what < 95 || !with_trouble) {
      read_a_chunk(*nodes_[n]);
    } else if (what < 98) {
      place(static_cast<uint32_t>(n), static_cast<uint32_t>(random_.below(chain_nodes)));
    } else if (random_.below(3) > 0) {
      give(nodes_[n]->shard, drop_copy{{1}, {0}});
    } else {
      kill(static_cast<uint32_t>(n));
      begin(static_cast<uint32_t>(n));
    }
    for (auto& node : nodes_)
      for (auto* a : node->actors())
        while (a->next_wakeup() <= now_) a->on_time(now_);
    check();
  }
  void place(uint32_t n, uint32_t from) { give(nodes_[n]->shard, place_copy{{1}, {0}, {from}}); }
  /// As the pool knows it; null: the node has no images.
  const image_state* image(uint32_t n) const {
    const auto known = inventories_.find(n);
    return known == inventories_.end() || known->second.images.empty() ? nullptr : &known->second.images[0];
  }

 private:
  void give(actor& a, actor_message m, const address& from = {}) {
    envelope e{from, a.self(), std::move(m)};
    a.on(e, now_);
    a.on_time(now_);
  }
  void begin(uint32_t n) {
    const incarnation_id incarnation{++last_incarnation_};
    nodes_[n] = std::make_unique<chain_node>(node_id{n}, incarnation, *this, cluster_, [this, n] {
      send({{n}, {}, role::node, 0}, {{n}, {}, role::parameter_shard, 0}, images_changed{});
    });
    for (uint32_t other = 0; other < chain_nodes; ++other) {
      if (!nodes_[other]) continue;
      for (auto* a : nodes_[other]->actors()) give(*a, node_up{{n}, incarnation});
      if (other == n) continue;
      for (auto* a : nodes_[n]->actors()) give(*a, node_up{{other}, nodes_[other]->incarnation});
    }
    give(nodes_[n]->shard, node_up{chain_pool, {1}});
  }
  void kill(uint32_t n) {
    const auto was = nodes_[n]->incarnation;
    nodes_[n].reset();
    inventories_.erase(n);
    std::erase_if(mail_,
                  [&](const auto& m) { return std::get<0>(m.first) == n || std::get<2>(m.first) == n; });
    for (auto& other : nodes_)
      if (other)
        for (auto* a : other->actors()) give(*a, node_down{{n}, was});
  }
  void deliver_some_mail() {
    std::erase_if(mail_, [](const auto& m) { return m.second.empty(); });
    if (mail_.empty()) return;
    auto& queue = std::next(mail_.begin(), static_cast<int64_t>(random_.below(mail_.size())))->second;
    auto e = std::move(queue.front());
    queue.pop_front();
    if (e.to.kind == role::parameter_pool) {
      const auto& i = std::get<shard_inventory>(e.body);
      inventories_[i.node.value] = i;
      return;
    }
    auto& to = *nodes_[e.to.node.value];
    if (e.to.incarnation != incarnation_id{} && e.to.incarnation != to.incarnation) return;
    if (e.to.kind == role::chain_link)
      give(to.link, std::move(e.body), e.from);
    else
      give(to.shard, std::move(e.body), e.from);
  }
  void end_a_pull(chain_node& node, bool with_trouble) {
    auto& pulls = node.memory.byte_pulls;
    if (pulls.empty()) return;
    const auto at = pulls.begin() + static_cast<int64_t>(random_.below(pulls.size()));
    const auto p = *at;
    pulls.erase(at);
    if (with_trouble && random_.below(10) == 0) return give(node.link, pulled{p.token, pull_status::lost});
    const auto images = nodes_[p.peer.value]->store.find({0});
    const bool is_there = images && p.offset >= *images->offset() && p.offset < *images->offset() + 1000;
    for (size_t i = 0; i < p.into.size(); ++i)
      p.into[i] = is_there ? images->memory(0).data()[p.offset - *images->offset() + i] : std::byte{0xee};
    give(node.link, pulled{p.token, pull_status::ok});
  }
  void read_a_chunk(chain_node& node) {
    auto& reads = node.store.reads;
    std::erase_if(reads, [](auto& r) { return r->complete() || r.abandoned(); });
    if (!reads.empty()) write_next_chunk(*reads[random_.below(reads.size())]);
  }
  /// A reader and a link never write to the same images, and what is ready is right. No pull reads images
  /// whose memory has been given back.
  void check() {
    for (const auto& n : nodes_) {
      for (const auto& p : n->memory.byte_pulls) {
        auto& source = *nodes_[p.peer.value];
        const auto begun =
            pulled_from_.try_emplace({n->incarnation, p.token}, source.incarnation).first->second;
        if (begun == source.incarnation) REQUIRE(source.store.is_there(p.offset));
      }
      for (const auto& r : n->store.reads)
        for (const auto& p : n->memory.byte_pulls)
          if (!r->complete()) {
            const auto* first = r->memory(0).data();
            REQUIRE((p.into.data() < first || p.into.data() >= first + r->bytes()));
          }
      const auto images = n->store.find({0});
      for (uint32_t c = 0; images && c < images->chunks_ready(); ++c)
        REQUIRE(std::ranges::equal(images->chunk_memory(c), pattern_of(*images, c)));
    }
  }

  random_stream random_;
  cluster_spec cluster_;
  time_point now_ = at(1000);
  uint64_t last_incarnation_ = 0;
  std::map<std::tuple<uint32_t, role, uint32_t, role>, std::deque<envelope>> mail_;
  std::map<uint32_t, shard_inventory> inventories_;
  std::map<std::pair<incarnation_id, uint64_t>, incarnation_id> pulled_from_;  ///< by reader and token
  std::vector<std::unique_ptr<chain_node>> nodes_;
};

}  // namespace

TEST_CASE("shards and links: whatever happens, images have one writer, and can be completed afterwards") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    chain_world world(seed);
    for (int i = 0; i < 2000; ++i) world.step(true);
    uint32_t complete = 0;
    for (int i = 0; i < 6000 && complete < chain_nodes; ++i) {
      world.step(false);
      complete = 0;
      for (uint32_t n = 0; n < chain_nodes; ++n) {
        const auto* image = world.image(n);
        complete += image != nullptr && image->complete();
        // the first node reads, the others form a chain behind it
        if (i % 200 == 0) world.place(n, n == 0 ? 0 : n - 1);
      }
    }
    CHECK(complete == chain_nodes);
  }
}
