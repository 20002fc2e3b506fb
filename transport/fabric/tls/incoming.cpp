#include "transport/fabric/tls/incoming.hpp"

#include <utility>

namespace troupe::tls {

incoming::incoming(shared_state& shared, int socket, std::unique_ptr<tls_session> session, greeting greet)
    : shared_(shared),
      channel_(shared.epoll, socket, std::move(session), this, shared.moved),
      greet_(std::move(greet)),
      intake_(*this, shared.options.max_frame_bytes) {}

incoming::~incoming() { shared_.forget(*this); }

void incoming::end() {
  if (std::exchange(ended_, true)) return;
  channel_.watch(false, false);
  shared_.attention = true;
}

bool incoming::ready() {
  channel_.begin_turn();
  while (!ended_) {
    if (answers_.pieces() >= max_waiting) return write_answers();
    const auto r = channel_.read(intake_.rest());
    if (r == channel::result::later) return write_answers();
    if (r == channel::result::pause) break;
    if (r == channel::result::over || (r == channel::result::done && !intake_.take())) end();
  }
  if (!ended_) write_answers();
  return !ended_;  // its turn was over
}

/// True if there is more to do at once.
bool incoming::write_answers() {
  const bool waited = answers_.pieces() >= max_waiting;
  const auto r = answers_.write(channel_);
  if (r == channel::result::over) {
    end();
    return false;
  }
  const bool reads = answers_.pieces() < max_waiting;
  channel_.watch(reads, r == channel::result::later);
  return r == channel::result::pause || (waited && reads);
}

bool incoming::on_hello(const hello& h) {
  if (h.secret != shared_.options.secret || h.epoch != shared_.epoch) return false;
  peer_ = h;
  in_ = greet_(*this, h);
  return in_ != nullptr;
}

void incoming::on_frame(std::span<const std::byte> bytes) {
  const auto verdict = in_->judge(incarnation_id{peer_.incarnation}, peer_.stream, number_++);
  const bool outdated = peer_.epoch != shared_.epoch;
  if (verdict != inbox::verdict::deliver || outdated || shared_.events == nullptr) {
    shared_.count.discarded_in += 1;
    return;
  }
  shared_.count.frames_in += 1;
  shared_.count.bytes_in += bytes.size();
  shared_.events->on_frame(bytes);
}

void incoming::on_pull(pull_request request) {
  if (auto found = shared_.memory.find_all(request.ranges))
    answers_.add_answer(std::move(*found), request.early);
  else
    answers_.add_refusal();
}

}  // namespace troupe::tls
