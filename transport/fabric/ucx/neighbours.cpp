#include "transport/fabric/ucx/neighbours.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "transport/fabric/sealed_address.hpp"
#include "transport/fabric/ucx/address.hpp"

namespace troupe::ucx {

neighbours::neighbours(const ucx_options& options, const clock& time)
    : options_(options), clock_(time), shared_{.worker = nullptr, .options = options} {}

neighbours::neighbour* neighbours::find(uint32_t node) {
  if (node >= max_nodes) return nullptr;
  while (peers_.size() <= node) peers_.emplace_back();
  return &peers_[node];
}

link* neighbours::link_to(node_id node) {
  return node.value < peers_.size() ? peers_[node.value].out.get() : nullptr;
}

void neighbours::connect(node_id node, incarnation_id incarnation, const std::string& address) {
  ucx_address at;
  std::string problem = address_of(node, address, at);
  auto* p = find(node.value);
  if (p == nullptr) problem = "its node number is too high";
  if (p != nullptr && p->out) leave(std::move(p->out));
  if (problem.empty()) {
    try {
      p->out = std::make_unique<link>(shared_, node, incarnation, next_stream_++, at);
    } catch (const std::runtime_error& e) {
      problem = e.what();
    }
  }
  if (!problem.empty()) return events_->on_lost(node, incarnation, problem);
  p->in.open(at.incarnation);
  p->waiting_ranges = 0;
  for (const auto& w : std::exchange(p->waiting, {})) {
    if (w.incarnation == at.incarnation) p->out->answer(w.pull_number, w.request);
  }
}

void neighbours::disconnect(node_id node) {
  if (link_to(node) == nullptr) return;
  auto& p = peers_[node.value];
  p.in.close(p.out->fabric_incarnation());
  leave(std::move(p.out));
}

void neighbours::send(node_id to, std::vector<std::byte> frame) {
  if (auto* out = link_to(to))
    out->send(std::move(frame));
  else
    shared_.count.discarded_out += 1;
}

void neighbours::pull(node_id from, pull_plan plan, pull_done done) {
  if (from == options_.self) return pull_own(plan, done);
  if (auto* out = link_to(from)) return out->pull(std::move(plan), std::move(done));
  done(pull_status::lost);
}

void neighbours::pull_own(const pull_plan& plan, const pull_done& done) {
  const auto how = shared_.memory.pull(plan);
  if (how == pull_status::ok) shared_.count.add_pull(plan);
  done(how);
}

void neighbours::leave(std::unique_ptr<link> out) {
  out->drain();
  leaving_.push_back({std::move(out), clock_.now() + options_.linger});
}

void neighbours::leave_all() {
  for (auto& p : peers_) {
    if (p.out) leave(std::move(p.out));
  }
}

void neighbours::renew(ucp_worker_h worker) {
  for (uint32_t i = 0; i < peers_.size(); ++i) {
    disconnect(node_id{i});
    peers_[i].waiting.clear();
    peers_[i].waiting_ranges = 0;
  }
  shared_.worker = worker;
}

bool neighbours::parting(ucp_worker_h worker) const {
  return std::any_of(leaving_.begin(), leaving_.end(),
                     [&](const leaving_link& l) { return l.out->worker() == worker; });
}

void neighbours::break_all(const char* why) {
  for (auto& p : peers_) {
    if (p.out) p.out->break_off(why);
  }
}

void neighbours::lose_broken() {
  shared_.attention = false;
  for (auto& p : peers_) {
    if (p.out) p.out->open();
    if (!p.out || p.out->broken().empty()) continue;
    auto out = std::move(p.out);
    const node_id node = out->peer();
    const incarnation_id incarnation = out->incarnation();
    std::string why = out->broken();
    p.in.close(out->fabric_incarnation());
    out->close();
    leaving_.push_back({std::move(out), never});
    if (events_) events_->on_lost(node, incarnation, std::move(why));
  }
}

void neighbours::reap() {
  for (auto& l : leaving_) {
    if (l.out->drained() || !l.out->broken().empty() || clock_.now() >= l.until) l.out->close();
  }
  std::erase_if(leaving_, [](const leaving_link& l) { return l.out->idle(); });
}

void neighbours::abandon() {
  for (auto& l : leaving_) l.out->abandon();
}

// ---- inside UCX ----

ucs_status_t neighbours::on_message(const void* head, size_t head_bytes, void* data, size_t bytes,
                                    const ucp_am_recv_param_t* p) {
  const bool rendezvous = (p->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  if (head_bytes == 0 && !rendezvous && bytes >= message_head::bytes) {  // a small one: all in one piece
    head = data;
    head_bytes = message_head::bytes;
    data = static_cast<std::byte*>(data) + head_bytes;
    bytes -= head_bytes;
  }
  message_head h;
  if (head_bytes != message_head::bytes) return UCS_OK;
  std::memcpy(static_cast<void*>(&h), head, head_bytes);
  if (h.kind == message_kind::opening) return UCS_OK;
  return on_message(h, data, bytes, rendezvous);
}

ucs_status_t neighbours::on_message(const message_head& head, void* data, size_t bytes, bool rendezvous) {
  const incarnation_id incarnation{head.incarnation};
  auto* from = find(head.from);
  const bool counted = head.kind == message_kind::frame;  // even if its incarnation has ended
  if (head.secret != options_.secret || !events_ || from == nullptr ||
      (!counted && !from->in.accepts(incarnation))) {
    shared_.count.discarded_in += 1;
    return UCS_OK;
  }
  const bool connected = from->out && from->out->fabric_incarnation() == incarnation;
  switch (head.kind) {
    case message_kind::frame:
      if (!rendezvous) on_frame(*from, head, {static_cast<const std::byte*>(data), bytes});
      return UCS_OK;
    case message_kind::pull_request: {
      if (rendezvous) return UCS_OK;
      auto request = decode_request({static_cast<const std::byte*>(data), bytes});
      if (!request) {
        if (connected) from->out->refuse(head.number);
      } else if (connected) {
        from->out->answer(head.number, *request);
      } else if (from->waiting_ranges + request->ranges.size() <= max_waiting_ranges) {
        from->waiting_ranges += request->ranges.size();
        from->waiting.push_back({incarnation, head.number, std::move(*request)});
      }
      return UCS_OK;
    }
    case message_kind::pull_early:
    case message_kind::pull_last:
    case message_kind::pull_refused:
      return connected ? from->out->on_part(head, data, bytes, rendezvous) : UCS_OK;
    case message_kind::opening: break;
  }
  return UCS_OK;
}

void neighbours::on_frame(neighbour& from, const message_head& head, std::span<const std::byte> bytes) {
  const incarnation_id incarnation{head.incarnation};
  switch (from.in.judge(incarnation, head.stream, head.number)) {
    case inbox::verdict::discard: shared_.count.discarded_in += 1; return;
    case inbox::verdict::gap:
      shared_.count.discarded_in += 1;
      from.in.close(incarnation);
      if (from.out && from.out->fabric_incarnation() == incarnation)
        from.out->break_off("frames from it are missing");
      return;
    case inbox::verdict::deliver: break;
  }
  shared_.count.frames_in += 1;
  shared_.count.bytes_in += bytes.size();
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0) {
    aligned_.assign(bytes.begin(), bytes.end());
    bytes = aligned_;
  }
  events_->on_frame(bytes);
}

}  // namespace troupe::ucx
