#include "transport/fabric/tls/peers.hpp"

#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "transport/fabric/sealed_address.hpp"
#include "transport/fabric/tls/address.hpp"

namespace troupe::tls {

peers::peer* peers::find(uint32_t node) {
  if (node >= max_nodes) return nullptr;
  while (peers_.size() <= node) peers_.emplace_back();
  return &peers_[node];
}

outgoing* peers::connection_to(node_id node) {
  return node.value < peers_.size() ? peers_[node.value].to.get() : nullptr;
}

void peers::connect(node_id node, incarnation_id incarnation, const std::string& address) {
  tls_address at;
  std::string problem = address_of(node, address, at);
  auto* p = find(node.value);
  if (p == nullptr) problem = "its node number is too high";
  if (p != nullptr && p->to) leave(std::move(p->to));
  if (!problem.empty()) return shared_.events->on_lost(node, incarnation, problem);
  p->to = std::make_unique<outgoing>(shared_, node, incarnation, next_stream_++, at);
  p->in.open(at.incarnation);
  dial_(p->to->stream(), at);
}

void peers::dialled(uint32_t stream, int socket, std::unique_ptr<tls_session> session,
                    const std::string& problem) {
  const auto is_it = [&](const auto& x) { return x.to && x.to->stream() == stream; };
  if (const auto p = std::ranges::find_if(peers_, is_it); p != peers_.end())
    return p->to->dialled(socket, std::move(session), problem);
  if (const auto l = std::ranges::find_if(leaving_, is_it); l != leaving_.end())
    return l->to->dialled(socket, std::move(session), problem);
  session.reset();
  if (socket >= 0) ::close(socket);
}

void peers::accept(int socket, std::unique_ptr<tls_session> session) {
  if (silent_.size() >= max_silent) {
    silent_.front()->end();
    former_.push_back(std::move(silent_.front()));
    silent_.erase(silent_.begin());
  }
  silent_.push_back(
      std::make_unique<incoming>(shared_, socket, std::move(session),
                                 [this](incoming& from, const hello& h) { return greet(from, h); }));
  shared_.call_again(*silent_.back());  // what came with the handshake is not announced
}

/// A later connection of a peer replaces an earlier one.
inbox* peers::greet(incoming& from, const hello& h) {
  auto* p = find(h.node);
  if (p == nullptr) return nullptr;
  if (p->from) {
    const auto& before = p->from->peer();
    if (std::tie(h.incarnation, h.stream) <= std::tie(before.incarnation, before.stream)) return nullptr;
    p->from->end();
    former_.push_back(std::move(p->from));
  }
  const auto it = std::ranges::find_if(silent_, [&](const auto& s) { return s.get() == &from; });
  p->from = std::move(*it);
  silent_.erase(it);
  return &p->in;
}

/// Its incoming connection stays open: the peer may be connected again without noticing, and continues on it.
void peers::disconnect(node_id node) {
  if (connection_to(node) == nullptr) return;
  auto& p = peers_[node.value];
  p.in.close(p.to->fabric_incarnation());
  leave(std::move(p.to));
}

/// Frames of earlier epochs are discarded. Their connections stay until the peers leave them: a broken one
/// would look as if this process had crashed.
void peers::renew() {
  for (uint32_t i = 0; i < peers_.size(); ++i) disconnect(node_id{i});
  shared_.epoch += 1;
}

void peers::send(node_id to, std::vector<std::byte> frame) {
  if (auto* connection = connection_to(to))
    connection->send(std::move(frame));
  else
    shared_.count.discarded_out += 1;
}

void peers::pull(node_id from, pull_plan plan, pull_done done) {
  if (auto* connection = connection_to(from)) return connection->pull(std::move(plan), std::move(done));
  if (from != shared_.options.self) return done(pull_status::lost);
  const auto how = shared_.memory.pull(plan);
  if (how == pull_status::ok) shared_.count.add_pull(plan);
  done(how);
}

void peers::break_all(const char* why) {
  for (auto& p : peers_)
    if (p.to) p.to->break_off(why);
}

void peers::leave(std::unique_ptr<outgoing> to) {
  to->finish();
  leaving_.push_back({std::move(to), clock_.now() + shared_.options.linger});
}

void peers::leave_all() {
  for (auto& p : peers_)
    if (p.to) leave(std::move(p.to));
}

bool peers::close_broken() {
  bool any = std::exchange(shared_.attention, false);
  if (any) lose_broken();
  if (!leaving_.empty()) {
    const auto now = clock_.now();
    any = std::erase_if(
              leaving_,
              [&](const leaving_connection& l) { return !l.to->broken().empty() || now >= l.until; }) > 0 ||
          any;
  }
  return any;
}

void peers::lose_broken() {
  const auto ended = [](const auto& connection) { return connection->ended(); };
  for (auto& p : peers_) {
    if (p.from && ended(p.from)) p.from.reset();
    if (!p.to || p.to->broken().empty()) continue;
    const auto to = std::move(p.to);
    p.in.close(to->fabric_incarnation());
    to->lose_pulls();
    if (shared_.events != nullptr) shared_.events->on_lost(to->peer(), to->incarnation(), to->broken());
  }
  std::erase_if(silent_, ended);
  former_.clear();
}

void peers::abandon() {
  leaving_.clear();
  silent_.clear();
  former_.clear();
  peers_.clear();
}

}  // namespace troupe::tls
