#include "transport/fabric/ucx/link.hpp"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "transport/fabric/ucx/handles.hpp"

namespace troupe::ucx {

/// An outgoing active message with its bytes.
class link::message final : public operation {
 public:
  message(link& via, message_head head, std::vector<std::byte> body)
      : via_(via), head_(head), body_(std::move(body)) {}

  void start() {
    const auto p = parameters(UCP_AM_SEND_FLAG_EAGER);
    via_.started_one();
    if (head_.kind == message_kind::frame) {
      ++via_.unsent_frames_;
      via_.unsent_bytes_ += body_.size();
    }
    started(ucp_am_send_nbx(via_.endpoint_, message_id, &head_, message_head::bytes, body_.data(),
                            body_.size(), &p));
  }

  void finished(ucs_status_t status) noexcept override {
    if (head_.kind == message_kind::frame) {
      --via_.unsent_frames_;
      via_.unsent_bytes_ -= body_.size();
    }
    via_.finished_one(status, "sending to it failed");
    delete this;
  }

 private:
  link& via_;
  message_head head_;
  std::vector<std::byte> body_;
};

/// A message that asks for the sender's endpoint: it waits until the peer's is known, and so makes UCX
/// connect them now.
class link::opening final : public operation {
 public:
  explicit opening(link& via) : via_(via), head_(via.head(message_kind::opening, 0)) {}
  void start() {
    const auto p = parameters(UCP_AM_SEND_FLAG_EAGER | UCP_AM_SEND_FLAG_REPLY);
    via_.started_one();
    started(ucp_am_send_nbx(via_.endpoint_, message_id, &head_, message_head::bytes, nullptr, 0, &p));
  }
  void finished(ucs_status_t status) noexcept override {
    if (via_.stage_ == opening_stage::connecting) via_.reach(opening_stage::connected);
    via_.finished_one(status, "connecting to it failed");
    delete this;
  }

 private:
  link& via_;
  message_head head_;
};

/// Waits until everything sent so far has left, then tells the link.
class link::flush final : public operation {
 public:
  flush(link& via, void (*then)(link&)) : via_(via), then_(then) {}
  void start() {
    const auto p = parameters();
    via_.started_one();
    started(ucp_ep_flush_nbx(via_.endpoint_, &p));
  }
  void finished(ucs_status_t) noexcept override {
    then_(via_);
    via_.finished_one(UCS_OK, "");
    delete this;
  }

 private:
  link& via_;
  void (*then_)(link&);
};

class link::closing final : public operation {
 public:
  explicit closing(link& via) : via_(via) {}
  void start(ucp_ep_h endpoint) {
    const auto p = parameters(UCP_EP_CLOSE_FLAG_FORCE);
    via_.started_one();
    started(ucp_ep_close_nbx(endpoint, &p));
  }
  void finished(ucs_status_t) noexcept override {
    via_.closed_ = true;
    via_.finished_one(UCS_OK, "");
    delete this;
  }

 private:
  link& via_;
};

link::link(link_shared_state& shared, node_id peer, incarnation_id incarnation, uint32_t stream,
           const ucx_address& address)
    : shared_(shared),
      worker_(shared.worker),
      peer_(peer),
      incarnation_(incarnation),
      fabric_incarnation_(address.incarnation),
      secret_(address.secret),
      stream_(stream) {
  ucp_ep_params_t p{};
  p.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                 UCP_EP_PARAM_FIELD_ERR_HANDLER;
  p.address = reinterpret_cast<const ucp_address_t*>(address.worker.data());
  p.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  p.err_handler.arg = this;
  // The endpoint must not be closed in here: only record the error.
  p.err_handler.cb = [](void* self, ucp_ep_h, ucs_status_t status) {
    static_cast<link*>(self)->stage_ = opening_stage::open;  // there is nothing left of the exchange
    static_cast<link*>(self)->break_off(ucs_status_string(status));
  };
  check(ucp_ep_create(worker_, &p, &endpoint_), "UCX cannot reach its address");
  (new opening(*this))->start();
  for (const auto& arena : address.arenas) unpack(arena);
}

void link::unpack(const ucx_address::arena& arena) {
  remote_arena a{.base = arena.base};
  if (ucp_ep_rkey_unpack(endpoint_, arena.key.data(), &a.key) != UCS_OK) {
    a.key = nullptr;  // pulls go by message
  } else if (shared_.options.pulls == pull_path::automatic) {
    void* here = nullptr;  // only shared memory can be addressed
    a.one_sided = ucp_rkey_ptr(a.key, a.base, &here) == UCS_OK;
    if (a.one_sided) a.here = static_cast<const std::byte*>(here);
  } else {
    a.one_sided = shared_.options.pulls == pull_path::one_sided;
  }
  arenas_.push_back(a);
  arena_sizes_.push_back(arena.bytes);
}

link::~link() { destroy_keys(); }

void link::destroy_keys() {
  for (auto& a : arenas_)
    if (a.key) ucp_rkey_destroy(std::exchange(a.key, nullptr));
}

void link::reach(opening_stage stage) {
  stage_ = stage;
  shared_.attention = true;
}

void link::open() {
  if (stage_ != opening_stage::connected || !endpoint_) return;
  stage_ = opening_stage::flushing;  // the answer to the peer's own request may wait to be sent
  (new flush(*this, [](link& l) { l.reach(opening_stage::open); }))->start();
}

void link::break_off(std::string why) {
  if (!broken_.empty() || !endpoint_) return;
  broken_ = std::move(why);
  shared_.attention = true;
}

void link::finished_one(ucs_status_t status, const char* what) {
  --in_flight_;
  --shared_.in_flight;
  if (status != UCS_OK) break_off(fmt::format("{} ({})", what, ucs_status_string(status)));
}

message_head link::head(message_kind kind, uint32_t number) const {
  return {shared_.options.incarnation.value,
          secret_,
          stream_,
          number,
          static_cast<uint16_t>(shared_.options.self.value),
          kind};
}

/// Sends a small message at once in one piece, without a request or a copy that outlives the call. False if
/// UCX has no room, or no such path for this size.
bool link::post_inline(const message_head& head, std::span<const std::byte> body) {
  std::byte whole[message_head::bytes + inline_bytes];
  if (body.size() > inline_bytes || unsent_frames_ > 0) return false;
  std::memcpy(whole, &head, message_head::bytes);
  std::memcpy(whole + message_head::bytes, body.data(), body.size());
  ucp_request_param_t p{};
  p.op_attr_mask = UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL | UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  p.flags = UCP_AM_SEND_FLAG_EAGER;
  p.memory_type = UCS_MEMORY_TYPE_HOST;
  return ucp_am_send_nbx(endpoint_, message_id, nullptr, 0, whole, message_head::bytes + body.size(), &p) ==
         nullptr;
}

void link::post(message_kind kind, uint32_t number, std::vector<std::byte> body) {
  (new message(*this, head(kind, number), std::move(body)))->start();
}

void link::send(std::vector<std::byte> frame) {
  if (endpoint_ && broken_.empty()) {
    // No one would notice a missing frame, and the order in it could hold a slot for ever.
    if (frame.size() > shared_.options.max_frame_bytes) break_off("a frame to it is too large");
    if (unsent_frames_ >= shared_.options.max_unsent_frames ||
        unsent_bytes_ + frame.size() > shared_.options.max_unsent_bytes)
      break_off("it takes frames too slowly");
  }
  if (!endpoint_ || !broken_.empty()) {
    shared_.count.discarded_out += 1;
    return;
  }
  shared_.count.frames_out += 1;
  shared_.count.bytes_out += frame.size();
  const auto number = next_number_++;
  if (!post_inline(head(message_kind::frame, number), frame))
    post(message_kind::frame, number, std::move(frame));
}

void link::drain() {
  end_copies();  // the peer may give the memory back once it is connected anew
  leaving_ = true;
  (new flush(*this, [](link& l) { l.drained_ = true; }))->start();
}

void link::end_copies() {
  shared_.copies.cancel(this);
  shared_.low_copies.cancel(this);
}

void link::close() {
  end_copies();
  if (!endpoint_) return;
  open();
  if (stage_ == opening_stage::open) (new closing(*this))->start(std::exchange(endpoint_, nullptr));
  std::vector<uint32_t> waiting;
  for (auto& [pull_number, pull] : pulled_) {
    pull->lost = true;
    if (pull->receiving == 0) waiting.push_back(pull_number);  // others when UCX releases the memory
  }
  for (uint32_t pull_number : waiting) end_pull(pull_number, pull_status::lost);
}

void link::abandon() {
  end_copies();
  destroy_keys();  // calls under way end without them
  for (auto* g : std::exchange(gets_, {})) abandon(*g);
  for (auto& [pull_number, pull] : pulled_) {
    pull->lost = true;
    if (auto done = std::exchange(pull->done, nullptr)) done(pull_status::lost);
  }
}

}  // namespace troupe::ucx
