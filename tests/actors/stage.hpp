// A stage for one actor: it delivers messages at scripted times and keeps the sent ones.
#pragma once
#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/memory_port.hpp"
#include "messages/tensor/latency.hpp"
#include "transport/memory/pull_check.hpp"

namespace troupe::test {

constexpr time_point at(double ms) { return time_point{from_ms(ms)}; }

inline constexpr node_id scheduler_node{0}, gateway_node{1}, worker_node{2};
inline constexpr address the_arbiter{scheduler_node, {10}, role::rank_arbiter, 0};
inline constexpr address the_queue{scheduler_node, {10}, role::model_queue, 0};
inline constexpr address the_gateway{gateway_node, {11}, role::gateway, 0};
constexpr address worker_of(uint32_t slot, uint64_t incarnation = 12) {
  return {worker_node, {incarnation}, role::gpu_worker, slot};
}

/// A model with rows of `input` and `output` bytes, loaded on a slot.
inline slot_ready ready(uint32_t slot, uint64_t incarnation = 12, int64_t input = 4, int64_t output = 8,
                        latency_model latency = {1ms, 5ms}) {
  const model_signature s{{{"in", data_type::uint8, {input}}}, {{"out", data_type::uint8, {output}}}};
  return {slot_id{slot}, worker_of(slot, incarnation), {{model_id{0}, latency.alpha, latency.beta, 64, s}}};
}

class recorder final : public outbox {
 public:
  void send(const address& from, const address& to, actor_message message) override {
    sent_.push_back({from, to, std::move(message)});
  }
  /// Removes and returns the messages of one type, with their receivers.
  template <class M>
  std::vector<std::pair<address, M>> take_addressed() {
    std::vector<std::pair<address, M>> out;
    std::erase_if(sent_, [&](envelope& e) {
      auto* m = std::get_if<M>(&e.body);
      if (m != nullptr) out.emplace_back(e.to, std::move(*m));
      return m != nullptr;
    });
    return out;
  }
  template <class M>
  std::vector<M> take() {
    std::vector<M> out;
    for (auto& [to, m] : take_addressed<M>()) out.push_back(std::move(m));
    return out;
  }
  /// The only message of its type.
  template <class M>
  M one() {
    auto all = take<M>();
    REQUIRE(all.size() == 1);
    return std::move(all.front());
  }
  bool silent() const { return sent_.empty(); }
  void forget() { sent_.clear(); }

 private:
  std::vector<envelope> sent_;
};

template <class Actor>
class stage {
 public:
  template <class... Args>
  explicit stage(address self, Args&&... args) : actor(self, out, std::forward<Args>(args)...) {}

  /// One turn with one message.
  void deliver(actor_message m, const address& from = {}) {
    note(std::move(m), from);
    actor.on_time(now);
  }
  /// A message of a turn that goes on.
  void note(actor_message m, const address& from = {}) {
    if (const auto* next = std::get_if<new_incarnation>(&m))
      actor.begin_incarnation(next->incarnation);  // as an actor_group does
    envelope e{from, actor.self(), std::move(m)};
    actor.on(e, now);
  }
  /// Lets time pass, with all wake-ups on the way.
  void run_until(time_point t) {
    while (actor.next_wakeup() <= t) {
      now = std::max(now, actor.next_wakeup());
      actor.on_time(now);
    }
    now = t;
  }
  double value_of(std::string_view name) {
    std::vector<metric> all;
    actor.report(all);
    for (const auto& m : all)
      if (m.name == name) return m.value;
    FAIL("no such metric");
    return 0;
  }

  recorder out;
  time_point now = at(0);
  Actor actor;
};

/// Memory of a whole cluster, in which pulls end when the test ends them.
class scripted_memory final : public memory_port {
 public:
  struct pull_under_way {
    region_ref region;
    std::span<std::byte> into;
    address to;
    uint64_t token;
  };

  explicit scripted_memory(node_id self, uint64_t limit = ~0u) : self_(self), limit_(limit) {}

  std::optional<offer> take(uint64_t bytes) override {
    if (slots_.size() >= limit_) return {};
    const region_ref region{self_, {1}, memory_kind::host, ++last_, bytes, last_};
    auto& content = slots_[last_] = std::vector<std::byte>(pulled_bytes(region));
    const slot_words words{region.owner.value, region.generation};
    std::memcpy(content.data(), &words, sizeof words);
    std::memcpy(content.data() + slot_tail(bytes), &words, sizeof words);
    return offer{region, std::span(content).subspan(sizeof words, bytes)};
  }
  void give_back(const region_ref& region) override {
    CHECK(region.generation != 0);
    if (slots_.erase(region.generation) == 0) ++given_back_again;
  }
  std::vector<std::byte> pull_buffer(const region_ref& region) const override {
    return std::vector<std::byte>(pulled_bytes(region));
  }
  void pull(const region_ref& region, std::span<std::byte> into, const address& to, uint64_t token) override {
    pulls.push_back({region, into, to, token});
  }
  void pull_leased(const region_ref& lease, std::vector<pulled_range> ranges, const address& to,
                   uint64_t token) override {
    leased_pulls.push_back({lease, std::move(ranges), to, token});
  }
  void pull(node_id peer, uint64_t offset, std::span<std::byte> into, const address& to,
            uint64_t token) override {
    byte_pulls.push_back({peer, offset, into, to, token});
  }
  std::optional<std::span<const std::byte>> verify(const region_ref& region,
                                                   std::span<const std::byte> buffer) const override {
    return troupe::verify(region, buffer);
  }

  /// Ends the oldest pull, with the current content of `from`.
  pulled end_pull(const scripted_memory& from, pull_status status = pull_status::ok) {
    REQUIRE(!pulls.empty());
    const auto p = pulls.front();
    pulls.erase(pulls.begin());
    const auto source = from.slots_.find(p.region.generation);
    if (status == pull_status::ok && source != from.slots_.end())
      std::memcpy(p.into.data(), source->second.data(), p.into.size());
    return {p.token, status};
  }

  size_t in_use() const { return slots_.size(); }
  std::span<std::byte> payload(const region_ref& region) {
    return std::span(slots_.at(region.generation)).subspan(sizeof(slot_words), region.size);
  }

  struct byte_pull {
    node_id peer;
    uint64_t offset = 0;
    std::span<std::byte> into;
    address to;
    uint64_t token = 0;
  };
  struct leased_pull {
    region_ref lease;
    std::vector<pulled_range> ranges;
    address to;
    uint64_t token = 0;
  };
  std::vector<pull_under_way> pulls;
  std::vector<byte_pull> byte_pulls;      ///< ended by the test itself
  std::vector<leased_pull> leased_pulls;  ///< likewise
  uint64_t given_back_again = 0;

 private:
  const node_id self_;
  const uint64_t limit_;
  uint64_t last_ = 0;
  std::map<uint64_t, std::vector<std::byte>> slots_;
};

}  // namespace troupe::test
