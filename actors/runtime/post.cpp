#include "actors/runtime/post.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <caf/all.hpp>

#include "actors/runtime/caf_types.hpp"
#include "actors/runtime/direct_turns.hpp"

namespace troupe {
namespace {

/// Moves the batch out and reserves its size again, because growing moves the messages.
delivery take_out(message_batch& p) {
  delivery d;
  const auto n = p.size();
  d.messages.swap(p);
  p.reserve(n);
  return d;
}

/// Approximate memory of a waiting message.
size_t bytes_of(const envelope& e) {
  const auto held =
      overloaded{[](const plugin_message& m) { return m.body.size(); },
                 [](const command& c) { return c.argument.size(); },
                 [](const command_reply& r) { return r.body.size(); }, [](const auto&) { return size_t{0}; }};
  return sizeof e + std::visit(held, e.body);
}

}  // namespace

void post::add_caf_host(caf::actor caf_host, std::span<const address> actors) {
  const auto position = static_cast<uint32_t>(caf_hosts_.size());
  caf_hosts_.push_back(std::move(caf_host));
  turn_.resize(caf_hosts_.size());
  const bool extensions_only =
      !actors.empty() &&
      std::all_of(actors.begin(), actors.end(), [](const address& a) { return a.kind == role::extension; });
  backlogs_.push_back(extensions_only ? std::make_shared<backlog>(max_waiting) : nullptr);
  for (const auto& a : actors) {
    auto& row = caf_host_by_name_[static_cast<size_t>(a.kind)];
    if (row.size() <= a.index) row.resize(a.index + 1, no_host);
    row[a.index] = position;
  }
}

void post::set_queue_caf_hosts(std::vector<caf::actor> caf_hosts) {
  for (const auto& h : caf_hosts)
    queue_caf_hosts_.push_back(
        static_cast<uint32_t>(std::find(caf_hosts_.begin(), caf_hosts_.end(), h) - caf_hosts_.begin()));
}

uint32_t post::caf_host_of(const address& to) const {
  if (to.kind == role::model_queue && !queue_caf_hosts_.empty())
    return queue_caf_hosts_[to.index % queue_caf_hosts_.size()];
  const auto& row = caf_host_by_name_[static_cast<size_t>(to.kind)];
  return to.index < row.size() ? row[to.index] : no_host;
}

/// Empties `messages`.
void post::hand_over(size_t caf_host, message_batch& messages) {
  const auto& waiting = backlogs_[caf_host];
  size_t bytes = 0;
  if (waiting)
    std::erase_if(messages, [&](const envelope& e) {
      if (e.to.kind != role::extension) return false;
      const auto cost = bytes_of(e);
      if (waiting->add(cost)) {
        bytes += cost;
        return false;
      }
      if (dropped_.fetch_add(1, std::memory_order_relaxed) == 0)
        spdlog::warn(
            "event=extension_behind node={} actor={} reason=\"{} MiB wait for it; further messages are "
            "dropped and counted\"",
            self_.value, e.to.index, max_waiting >> 20);
      return true;
    });
  if (messages.empty()) return;
  auto d = take_out(messages);
  if (waiting) d.place = hold(waiting, bytes);
  caf::anon_send(caf_hosts_[caf_host], std::move(d));
}

void post::send(const address& to, actor_message message) {
  const auto caf_host = caf_host_of(to);
  if (caf_host == no_host) return;
  delivery d;
  d.messages.push_back({{self_, {}, role::node, 0}, to, std::move(message)});
  caf::anon_send(caf_hosts_[caf_host], std::move(d));
}

bool post::ask(const address& to, command what, std::function<void(command_reply)> reply) {
  const auto caf_host = caf_host_of(to);
  if (caf_host == no_host) return false;
  caf::anon_send(caf_hosts_[caf_host], command_query{to, std::move(what), std::move(reply)});
  return true;
}

/// CAF hosts of queues come first, then those of arbiters, then of gateways, then all others. So an actor
/// receives the event before messages that other actors send because of it.
void post::broadcast(const actor_message& message) {
  std::vector<int> rank(caf_hosts_.size(), 3);
  for (const auto caf_host : queue_caf_hosts_) rank[caf_host] = 0;  // including hosts without a queue yet
  constexpr std::pair<role, int> later[] = {
      {role::model_queue, 0}, {role::rank_arbiter, 1}, {role::gateway, 2}};
  for (const auto& [kind, when] : later)
    for (const auto caf_host : caf_host_by_name_[static_cast<size_t>(kind)])
      if (caf_host != no_host) rank[caf_host] = when;
  for (int now = 0; now <= 3; ++now)
    for (size_t i = 0; i < caf_hosts_.size(); ++i) {
      if (rank[i] != now) continue;
      delivery d;
      d.messages.push_back({{self_, {}, role::node, 0}, {self_, {}, role::node, 0}, message});
      caf::anon_send(caf_hosts_[i], std::move(d));
    }
}

void post::send_with_turn(const address& to, actor_message message) {
  if (stopped_) return;
  if (const auto caf_host = caf_host_of(to); caf_host != no_host)
    turn_[caf_host].push_back({{self_, {}, role::node, 0}, to, std::move(message)});
}

void post::carry(std::span<envelope> messages) {
  thread_local std::vector<message_batch> message_batches;
  if (message_batches.size() < caf_hosts_.size()) message_batches.resize(caf_hosts_.size());
  for (auto& e : messages) {
    if (const auto* idle = std::get_if<model_idle>(&e.body)) {
      caf::anon_send(deployer_, *idle);
      continue;
    }
    if (e.to.kind == role::deployer) {
      if (const auto* m = std::get_if<move_model>(&e.body)) caf::anon_send(deployer_, *m);
      if (const auto* f = std::get_if<files_settled>(&e.body)) caf::anon_send(deployer_, *f);
      continue;
    }
    if (e.to.node == self_) {
      if (const auto caf_host = caf_host_of(e.to); caf_host != no_host)
        message_batches[caf_host].push_back(std::move(e));
      continue;
    }
    std::visit(
        [&]<class M>(M& m) {
          if constexpr (requires { wire_message{std::move(m)}; })
            lane_->send(e.from, e.to, wire_message{std::move(m)});
        },
        e.body);
  }
  for (size_t i = 0; i < caf_hosts_.size(); ++i) {
    if (!message_batches[i].empty()) hand_over(i, message_batches[i]);
  }
}

void post::deliver(std::vector<inbound>& messages) {
  for (auto& m : messages)
    if (const auto caf_host = caf_host_of(m.to); caf_host != no_host)
      turn_[caf_host].push_back({m.from, m.to, to_actor_message(std::move(m.body))});
}

void post::on_turn_end() {
  // One host after the other would wait for the turns before its own, and might see what they send first.
  const auto hosts = std::ranges::count_if(turn_, [](const auto& messages) { return !messages.empty(); });
  const direct_turns here(hosts == 1);
  for (size_t i = 0; i < turn_.size(); ++i)
    if (!turn_[i].empty()) hand_over(i, turn_[i]);
}

void post::on_synchronised(node_id peer, incarnation_id incarnation) {
  caf::anon_send(node_, peer_synchronised{peer, incarnation});
}

void post::on_lost(node_id peer, incarnation_id incarnation, std::string why) {
  caf::anon_send(node_, peer_lost{peer, incarnation, std::move(why)});
}

}  // namespace troupe
