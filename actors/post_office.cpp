#include "actors/post_office.hpp"

#include <algorithm>
#include <caf/all.hpp>

#include "actors/caf_types.hpp"

namespace troupe {
namespace {

/// Empties `p`, but for room for as much again: a parcel that grows moves its messages.
delivery take_out(parcel& p) {
  delivery d;
  const auto n = p.size();
  d.messages.swap(p);
  p.reserve(n);
  return d;
}

}  // namespace

void post_office::add_host(caf::actor host, std::span<const address> actors) {
  const auto position = static_cast<uint32_t>(hosts_.size());
  hosts_.push_back(std::move(host));
  turn_.resize(hosts_.size());
  for (const auto& a : actors) {
    auto& row = host_by_name_[static_cast<size_t>(a.kind)];
    if (row.size() <= a.index) row.resize(a.index + 1, nobody);
    row[a.index] = position;
  }
}

void post_office::set_queue_hosts(std::vector<caf::actor> hosts) {
  for (const auto& h : hosts)
    queue_hosts_.push_back(
        static_cast<uint32_t>(std::find(hosts_.begin(), hosts_.end(), h) - hosts_.begin()));
}

uint32_t post_office::host_of(const address& to) const {
  if (to.kind == role::model_queue && !queue_hosts_.empty())
    return queue_hosts_[to.index % queue_hosts_.size()];
  const auto& row = host_by_name_[static_cast<size_t>(to.kind)];
  return to.index < row.size() ? row[to.index] : nobody;
}

void post_office::tell(const address& to, shell_message message) {
  const auto host = host_of(to);
  if (host == nobody) return;
  delivery d;
  d.messages.push_back({{self_, {}, role::node, 0}, to, std::move(message)});
  caf::anon_send(hosts_[host], std::move(d));
}

bool post_office::ask(const address& to, command what, std::function<void(command_reply)> reply) {
  const auto host = host_of(to);
  if (host == nobody) return false;
  caf::anon_send(hosts_[host], command_query{to, std::move(what), std::move(reply)});
  return true;
}

void post_office::tell_all(const shell_message& message) {
  for (const auto& host : hosts_) {
    delivery d;
    d.messages.push_back({{self_, {}, role::node, 0}, {self_, {}, role::node, 0}, message});
    caf::anon_send(host, std::move(d));
  }
}

void post_office::tell_with_turn(const address& to, shell_message message) {
  if (stopped_) return;
  if (const auto host = host_of(to); host != nobody)
    turn_[host].push_back({{self_, {}, role::node, 0}, to, std::move(message)});
}

void post_office::carry(std::span<envelope> messages) {
  thread_local std::vector<parcel> parcels;
  if (parcels.size() < hosts_.size()) parcels.resize(hosts_.size());
  for (auto& e : messages) {
    if (const auto* idle = std::get_if<model_idle>(&e.body)) {
      caf::anon_send(deployer_, *idle);
      continue;
    }
    if (e.to.node == self_) {
      if (const auto host = host_of(e.to); host != nobody) parcels[host].push_back(std::move(e));
      continue;
    }
    std::visit(
        [&]<class M>(M& m) {
          if constexpr (requires { wire_message{std::move(m)}; })
            lane_->send(e.from, e.to, wire_message{std::move(m)});
        },
        e.body);
  }
  for (size_t i = 0; i < hosts_.size(); ++i) {
    if (parcels[i].empty()) continue;
    caf::anon_send(hosts_[i], take_out(parcels[i]));
  }
}

void post_office::deliver(std::vector<inbound>& messages) {
  for (auto& m : messages)
    if (const auto host = host_of(m.to); host != nobody)
      turn_[host].push_back({m.from, m.to, to_shell_message(std::move(m.body))});
}

void post_office::on_turn_end() {
  for (size_t i = 0; i < turn_.size(); ++i) {
    if (turn_[i].empty()) continue;
    caf::anon_send(hosts_[i], take_out(turn_[i]));
  }
}

void post_office::on_synchronised(node_id peer, incarnation life) {
  caf::anon_send(node_, peer_synchronised{peer, life});
}

void post_office::on_lost(node_id peer, incarnation life, std::string why) {
  caf::anon_send(node_, peer_lost{peer, life, std::move(why)});
}

}  // namespace troupe
