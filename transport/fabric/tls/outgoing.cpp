#include "transport/fabric/tls/outgoing.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

namespace troupe::tls {

outgoing::outgoing(shared_state& shared, node_id peer, incarnation_id incarnation, uint32_t stream,
                   const tls_address& at)
    : shared_(shared),
      peer_(peer),
      incarnation_(incarnation),
      fabric_incarnation_(at.incarnation),
      stream_(stream),
      arena_sizes_(at.arenas) {
  const auto& self = shared.options;
  out_.add({.secret = at.secret,
            .epoch = at.epoch,
            .incarnation = self.incarnation.value,
            .node = self.self.value,
            .stream = stream});
  expect_head();
}

outgoing::~outgoing() {
  shared_.forget(*this);
  lose_pulls();
}

void outgoing::dialled(int socket, std::unique_ptr<tls_session> session, const std::string& problem) {
  if (!problem.empty()) return break_off(fmt::format("it cannot be reached at {}", problem));
  if (!broken_.empty()) {
    ::close(socket);
    return;
  }
  channel_.emplace(shared_.epoll, socket, std::move(session), this, shared_.moved);
  write_soon();
}

void outgoing::break_off(std::string why) {
  if (!broken_.empty()) return;
  broken_ = std::move(why);
  shared_.attention = true;
  if (channel_) channel_->watch(false, false);
}

void outgoing::send(std::vector<std::byte> frame) {
  const auto& limits = shared_.options;
  if (broken_.empty()) {
    // No one would notice a missing frame, and the order in it could hold a slot for ever.
    if (frame.size() > limits.max_frame_bytes) break_off("a frame to it is too large");
    if (out_.frames() >= limits.max_unsent_frames ||
        out_.frame_bytes() + frame.size() > limits.max_unsent_bytes)
      break_off("it takes frames too slowly");
  }
  if (!broken_.empty()) {
    shared_.count.discarded_out += 1;
    return;
  }
  shared_.count.frames_out += 1;
  shared_.count.bytes_out += frame.size();
  out_.add_frame(std::move(frame));
  write_soon();
}

void outgoing::pull(pull_plan plan, pull_done done) {
  if (!broken_.empty()) return done(pull_status::lost);
  for (const auto& r : plan.ranges)
    if (!place_of(r.range(), arena_sizes_)) return done(pull_status::refused);
  if (plan.bytes() == 0) return done(pull_status::ok);
  out_.add_pull(plan);
  pulls_.push_back({std::move(plan), std::move(done)});
  write_soon();
}

void outgoing::write_soon() {
  if (channel_) shared_.write_soon(*this);
}

bool outgoing::write() {
  if (!channel_ || !broken_.empty()) return false;
  channel_->begin_turn();
  const auto r = out_.write(*channel_);
  if (r == channel::result::over) {
    break_off(channel_->error());
    return false;
  }
  channel_->watch(true, r == channel::result::later);
  if (finishing_ && out_.empty()) {
    channel_->end_writing();
    finishing_ = false;
  }
  return r == channel::result::pause;
}

bool outgoing::ready() {
  bool more = write();
  while (channel_ && broken_.empty()) {
    const auto r = channel_->read(rest_);
    if (r == channel::result::over) break_off(channel_->error());
    if (r == channel::result::pause) more = true;
    if (r != channel::result::done) break;
    if (!take()) break_off("its answer to a pull does not match the request");
  }
  return more && broken_.empty();
}

void outgoing::expect_head() {
  reading_ = part::head;
  rest_ = std::as_writable_bytes(std::span(&head_, 1));
}

/// Takes the part that has been read, and expects the next. False if the peer does not keep to the protocol.
bool outgoing::take() {
  switch (reading_) {
    case part::head: return take_head();
    case part::range: expect_range(); break;
  }
  return true;
}

/// Expects the next range of the answer, or what follows it.
void outgoing::expect_range() {
  auto& p = pulls_.front();
  while (p.next < p.plan.ranges.size() && p.plan.ranges[p.next].into.empty()) ++p.next;
  if (p.next == p.plan.ranges.size()) {
    expect_head();
    return end_pull(pull_status::ok);
  }
  reading_ = part::range;
  rest_ = p.plan.ranges[p.next++].into;
}

bool outgoing::take_head() {
  if (pulls_.empty() || head_.bytes != 0) return false;
  switch (head_.kind) {
    case message_kind::answer: expect_range(); return true;
    case message_kind::refusal:
      expect_head();
      end_pull(pull_status::refused);
      return true;
    case message_kind::frame:
    case message_kind::pull: break;
  }
  return false;
}

void outgoing::end_pull(pull_status status) {
  const auto pull = std::move(pulls_.front());
  pulls_.pop_front();
  if (status == pull_status::ok) shared_.count.add_pull(pull.plan);
  pull.done(status);
}

void outgoing::finish() {
  finishing_ = true;
  write_soon();
}

void outgoing::lose_pulls() {
  for (auto& p : std::exchange(pulls_, {})) p.done(pull_status::lost);
}

}  // namespace troupe::tls
