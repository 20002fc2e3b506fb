#include "transport/data_lane/data_lane.hpp"

#include <array>
#include <utility>

#include "messages/wire/codec.hpp"
#include "messages/wire/shift_times.hpp"
#include "transport/memory/leased_pull.hpp"

namespace troupe {
namespace {

/// Type number on the wire → decoder of that message.
using decoder = wire_message (*)(std::span<const std::byte>, duration shift);

template <class... Ts>
constexpr std::array<decoder, sizeof...(Ts)> make_decoders(type_list<Ts...>) {
  return {[](std::span<const std::byte> body, duration shift) -> wire_message {
    auto message = decode<Ts>(body);
    shift_times(message, shift);
    return message;
  }...};
}
constexpr auto decoders = make_decoders(wire_message_list{});

template <class... Ts>
constexpr std::array<bool, sizeof...(Ts)> make_time_flags(type_list<Ts...>) {
  return {has_times<Ts>...};
}
constexpr auto carries_times = make_time_flags(wire_message_list{});

}  // namespace

data_lane::data_lane(fabric& carrier, const clock& time, data_lane_events& events, const options& o)
    : fabric_(carrier),
      clock_(time),
      events_(events),
      self_(o.self),
      heartbeat_(o.heartbeat),
      incarnation_(o.incarnation.value),
      secret_(o.secret) {
  peers_.reserve(o.nodes);
  for (size_t i = 0; i < o.nodes; ++i) peers_.push_back(std::make_unique<peer>());
}

data_lane::~data_lane() { stop(); }

void data_lane::connect(node_id node, incarnation_id incarnation, uint64_t secret,
                        std::vector<uint8_t> address) {
  if (node.value >= peers_.size() || node == self_) return;
  fabric_.post([this, node, incarnation, secret, mine = incarnation_.load(),
                address = std::string(address.begin(), address.end())]() mutable {
    auto& p = *peers_[node.value];
    if (incarnation_.load() != mine || p.incarnation.load(std::memory_order_relaxed) == incarnation.value)
      return;
    p.offset = troupe::clock_offset();
    p.announced = false;
    p.clock_error.store(-1, std::memory_order_relaxed);
    p.last_heard.store(clock_.now().time_since_epoch().count(), std::memory_order_relaxed);
    p.secret.store(secret, std::memory_order_relaxed);
    p.incarnation.store(incarnation.value, std::memory_order_release);
    fabric_.connect(node, incarnation, std::move(address));
    next_tick_ = long_ago;  // meet at once
  });
}

void data_lane::disconnect(node_id node, incarnation_id incarnation) {
  if (node.value >= peers_.size()) return;
  const auto forget = [this, node, incarnation] {
    uint64_t expected = incarnation.value;
    if (peers_[node.value]->incarnation.compare_exchange_strong(expected, 0)) fabric_.disconnect(node);
  };
  forget();              // nothing more from now on,
  fabric_.post(forget);  // not even by a pending connect
}

void data_lane::renew(incarnation_id incarnation, uint64_t secret) {
  // The incarnation first: until the secret follows, arriving frames count as stale, not forged.
  incarnation_.store(incarnation.value, std::memory_order_release);
  secret_.store(secret, std::memory_order_release);
  const auto forget = [this] {
    for (auto& p : peers_) p->incarnation.store(0);
  };
  forget();
  fabric_.post(forget);  // also peers that are just being connected
  fabric_.renew();
}

incarnation_id data_lane::incarnation_of(node_id node) const {
  return incarnation_id{
      node.value < peers_.size() ? peers_[node.value]->incarnation.load(std::memory_order_acquire) : 0};
}

time_point data_lane::last_heard(node_id node) const {
  return time_point{duration{peers_[node.value]->last_heard.load(std::memory_order_relaxed)}};
}

duration data_lane::clock_offset_of(node_id node) const {
  return duration{peers_[node.value]->clock_offset.load(std::memory_order_relaxed)};
}

duration data_lane::clock_error(node_id node) const {
  return duration{peers_[node.value]->clock_error.load(std::memory_order_relaxed)};
}

void data_lane::send(const address& from, const address& to, const wire_message& message) {
  const auto incarnation = incarnation_of(to.node);
  const auto own = incarnation_.load(std::memory_order_relaxed);
  // Messages of actors that do not know this node's new incarnation yet belong to the old one.
  if (incarnation.value == 0 || (to.incarnation.value != 0 && to.incarnation != incarnation) ||
      (from.incarnation.value != 0 && from.incarnation.value != own)) {
    stats_.stale.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  auto header = make_header(from, to, message.index());
  header.from_node = self_.value;
  header.from_incarnation = own;
  header.to_incarnation = incarnation.value;
  header.secret = peers_[to.node.value]->secret.load(std::memory_order_relaxed);
  std::vector<std::byte> frame(sizeof header);
  std::memcpy(frame.data(), &header, sizeof header);
  std::visit([&](const auto& m) { encode(m, frame); }, message);
  stats_.sent.fetch_add(1, std::memory_order_relaxed);
  fabric_.send(to.node, std::move(frame));
}

void data_lane::ping_now(node_id node) {
  fabric_.post([this, node] {
    if (incarnation_of(node).value != 0 && peers_[node.value]->announced)
      send({self_, {}, role::node, 0}, {node, {}, role::node, 0},
           ping{clock_.now().time_since_epoch().count(), synchronised(*peers_[node.value])});
  });
}

void data_lane::pull(const region_ref& from, std::span<std::byte> into, pull_done done) {
  fabric_.pull(from.node, from.offset, into, std::move(done));
}

void data_lane::pull_leased(const region_ref& lease, std::vector<pulled_range> ranges, pull_done done) {
  troupe::pull_leased(fabric_, lease, std::move(ranges), std::move(done));
}

void data_lane::pull_bulk(node_id from, uint64_t offset, std::span<std::byte> into, pull_done done) {
  fabric_.pull_bulk(from, offset, into, std::move(done));
}

void data_lane::on_frame(std::span<const std::byte> bytes) {
  const auto header = read_header(bytes);
  if (!header || header->type >= decoders.size() || header->from_node >= peers_.size() ||
      header->to_node != self_.value) {
    stats_.malformed.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  auto& p = *peers_[header->from_node];
  if (header->from_incarnation == 0 ||
      header->from_incarnation != p.incarnation.load(std::memory_order_relaxed) ||
      header->to_incarnation != incarnation_.load(std::memory_order_relaxed)) {
    stats_.stale.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (header->secret != secret_.load(std::memory_order_relaxed)) {
    stats_.forged.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (carries_times[header->type] && !synchronised(p)) {
    stats_.stale.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const auto now = clock_.now();
  try {
    auto message = decoders[header->type](bytes.subspan(sizeof(frame_header)), p.offset.shift(now));
    p.last_heard.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    stats_.received.fetch_add(1, std::memory_order_relaxed);
    if (const auto* asked = std::get_if<ping>(&message))
      answer(*asked, *header, now);
    else if (const auto* answered = std::get_if<pong>(&message))
      learn(*answered, *header, now);
    else
      inbound_.push_back({header->from(), header->to(), std::move(message)});
  } catch (const codec_error&) {
    stats_.malformed.fetch_add(1, std::memory_order_relaxed);
  }
}

/// Reports, once per incarnation of a peer, that both know each other's clock.
void data_lane::announce(const frame_header& header, bool peer_knows_us) {
  auto& p = *peers_[header.from_node];
  if (p.announced || !peer_knows_us || !synchronised(p)) return;
  p.announced = true;
  events_.on_synchronised(node_id{header.from_node}, incarnation_id{header.from_incarnation});
}

void data_lane::answer(const ping& asked, const frame_header& header, time_point now) {
  pong reply;
  reply.ping_sent_at = asked.sent_at;
  reply.received_at = now.time_since_epoch().count();
  reply.sent_at = clock_.now().time_since_epoch().count();
  reply.synchronised = synchronised(*peers_[header.from_node]);
  send(header.to(), header.from(), reply);
  announce(header, asked.synchronised);
}

void data_lane::learn(const pong& answered, const frame_header& header, time_point now) {
  auto& p = *peers_[header.from_node];
  const auto at = [](int64_t t) { return time_point{duration{t}}; };
  stats_.heartbeats.add(now - at(answered.ping_sent_at));
  p.offset.add({at(answered.ping_sent_at), at(answered.received_at), at(answered.sent_at), now});
  p.clock_error.store(p.offset.error(now).count(), std::memory_order_relaxed);
  p.clock_offset.store(p.offset.offset().count(), std::memory_order_relaxed);
  announce(header, answered.synchronised);
}

void data_lane::on_lost(node_id node, incarnation_id incarnation, std::string why) {
  if (node.value >= peers_.size()) return;
  events_.on_lost(node, incarnation, std::move(why));
}

void data_lane::on_turn_end() {
  if (!inbound_.empty()) {
    events_.deliver(inbound_);
    inbound_.clear();
  }
  events_.on_turn_end();
}

void data_lane::on_tick(time_point now) {
  next_tick_ = now + heartbeat_;
  for (size_t i = 0; i < peers_.size(); ++i) {
    const auto incarnation = peers_[i]->incarnation.load(std::memory_order_relaxed);
    if (incarnation == 0) continue;
    if (!peers_[i]->announced) next_tick_ = now + heartbeat_ / 10;  // not synchronised: do not wait so long
    send({self_, {}, role::node, 0},
         {node_id{static_cast<uint32_t>(i)}, incarnation_id{incarnation}, role::node, 0},
         ping{clock_.now().time_since_epoch().count(), synchronised(*peers_[i])});
  }
}

}  // namespace troupe
