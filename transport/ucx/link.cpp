#include "transport/ucx/link.hpp"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "transport/fence.hpp"
#include "transport/ucx/handles.hpp"

namespace troupe::ucx {

/// An active message on its way out, with its bytes.
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
    started(
        ucp_am_send_nbx(via_.endpoint_, message_id, &head_, sizeof head_, body_.data(), body_.size(), &p));
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

/// The answer to a peer's pull: the middle straight from the pool and, when UCX is done with reading that,
/// the ends.
class link::reply final : public operation {
 public:
  reply(link& via, uint64_t ticket, std::span<const std::byte> range)
      : via_(via), head_(via.head(message_kind::pull_middle, ticket)), range_(range) {}

  void start() {
    if (range_.size() <= 2 * end_bytes) {
      via_.post(message_kind::pull_ends, head_.number, {range_.begin(), range_.end()});
      delete this;
      return;
    }
    const auto middle = range_.subspan(end_bytes, range_.size() - 2 * end_bytes);
    const auto p = parameters();
    via_.started_one();
    started(
        ucp_am_send_nbx(via_.endpoint_, message_id, &head_, sizeof head_, middle.data(), middle.size(), &p));
  }

  void finished(ucs_status_t status) noexcept override {
    if (status == UCS_OK && via_.endpoint_) {
      read_fence();
      std::vector<std::byte> ends(2 * end_bytes);
      std::memcpy(ends.data(), range_.data(), end_bytes);
      std::memcpy(ends.data() + end_bytes, range_.data() + range_.size() - end_bytes, end_bytes);
      via_.post(message_kind::pull_ends, head_.number, std::move(ends));
    }
    via_.finished_one(status, "answering its pull failed");
    delete this;
  }

 private:
  link& via_;
  message_head head_;
  std::span<const std::byte> range_;
};

/// A one-sided pull: the middle, and then the ends.
class link::get final : public operation {
 public:
  get(link& via, uint64_t offset, std::span<std::byte> into, pull_done done)
      : via_(via), remote_(via.pool_base_ + offset), into_(into), done_(std::move(done)) {}

  void start() {
    if (into_.size() <= 2 * end_bytes) {
      ends_ = true;
      under_way_ = 1;
      read(0, into_.size());
    } else {
      under_way_ = 1;
      read(end_bytes, into_.size() - 2 * end_bytes);
    }
  }

  void finished(ucs_status_t status) noexcept override {
    if (status != UCS_OK) failed_ = true;
    via_.finished_one(status, "pulling from it failed");
    if (--under_way_ > 0) return;
    if (!ends_ && !failed_) {
      read_fence();
      ends_ = true;
      under_way_ = 2;
      read(0, end_bytes);
      read(into_.size() - end_bytes, end_bytes);  // the last touch of `this`
      return;
    }
    if (!failed_) {
      via_.house_.pulls += 1;
      via_.house_.bytes_pulled += into_.size();
    }
    done_(failed_ ? pull_status::lost : pull_status::ok);
    delete this;
  }

 private:
  void read(size_t at, size_t bytes) {
    via_.started_one();
    if (!via_.endpoint_) return finished(UCS_ERR_CANCELED);
    const auto p = parameters();
    started(ucp_get_nbx(via_.endpoint_, into_.data() + at, bytes, remote_ + at, via_.key_, &p));
  }

  link& via_;
  uint64_t remote_;
  std::span<std::byte> into_;
  pull_done done_;
  bool ends_ = false, failed_ = false;
  int under_way_ = 0;
};

/// A pull that the peer answers with messages.
struct link::pulled {
  std::span<std::byte> into;
  pull_done done;
  size_t missing;          ///< bytes
  bool receiving = false;  ///< UCX is writing into `into`
  bool lost = false;
};

/// The middle of a pull arriving by rendezvous, straight to its place.
class link::part final : public operation {
 public:
  part(link& via, uint64_t ticket, std::span<std::byte> into) : via_(via), ticket_(ticket), into_(into) {}

  void start(void* token) {
    auto p = parameters();
    p.cb.recv_am = [](void* request, ucs_status_t status, size_t, void* self) {
      ucp_request_free(request);
      static_cast<part*>(self)->finished(status);
    };
    via_.started_one();
    started(ucp_am_recv_data_nbx(via_.house_.worker, token, into_.data(), into_.size(), &p));
  }

  void finished(ucs_status_t status) noexcept override {
    auto& pull = *via_.pulled_.at(ticket_);
    pull.receiving = false;
    pull.missing -= into_.size();
    if (status != UCS_OK) pull.lost = true;
    via_.finished_one(status, "pulling from it failed");
    if (pull.lost || pull.missing == 0) {
      via_.end_pull(ticket_, pull.lost ? pull_status::lost : pull_status::ok);
    }
    delete this;
  }

 private:
  link& via_;
  uint64_t ticket_;
  std::span<std::byte> into_;
};

class link::flush final : public operation {
 public:
  explicit flush(link& via) : via_(via) {}
  void start() {
    const auto p = parameters();
    via_.started_one();
    started(ucp_ep_flush_nbx(via_.endpoint_, &p));
  }
  void finished(ucs_status_t) noexcept override {
    via_.drained_ = true;
    via_.finished_one(UCS_OK, "");
    delete this;
  }

 private:
  link& via_;
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

link::link(link_house& house, node_id peer, incarnation life, uint32_t stream, const ucx_address& address)
    : house_(house),
      peer_(peer),
      life_(life),
      fabric_life_(address.life),
      stream_(stream),
      pool_base_(address.pool_base),
      pool_bytes_(address.pool_bytes) {
  ucp_ep_params_t p{};
  p.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                 UCP_EP_PARAM_FIELD_ERR_HANDLER;
  p.address = reinterpret_cast<const ucp_address_t*>(address.worker.data());
  p.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  p.err_handler.arg = this;
  // The endpoint must not be closed in here: only take note.
  p.err_handler.cb = [](void* self, ucp_ep_h, ucs_status_t status) {
    static_cast<link*>(self)->break_off(ucs_status_string(status));
  };
  check(ucp_ep_create(house.worker, &p, &endpoint_), "UCX cannot reach its address");
  if (pool_bytes_ == 0) return;
  const auto status = ucp_ep_rkey_unpack(endpoint_, address.pool_key.data(), &key_);
  if (status != UCS_OK) {
    key_ = nullptr;  // no transport of this endpoint reads memory: by message, then
  } else if (house.options.pulls == pull_path::automatic) {
    void* here = nullptr;  // only shared memory can be addressed
    one_sided_ = ucp_rkey_ptr(key_, pool_base_, &here) == UCS_OK;
  } else {
    one_sided_ = house.options.pulls == pull_path::one_sided;
  }
}

link::~link() {
  if (key_) ucp_rkey_destroy(key_);
}

void link::break_off(std::string why) {
  if (!broken_.empty() || !endpoint_) return;
  broken_ = std::move(why);
  house_.attention = true;
}

void link::finished_one(ucs_status_t status, const char* what) {
  --in_flight_;
  if (status != UCS_OK) break_off(fmt::format("{} ({})", what, ucs_status_string(status)));
}

message_head link::head(message_kind kind, uint64_t number) const {
  return {kind, house_.options.self.value, house_.options.life.value, fabric_life_.value, stream_, 0, number};
}

void link::post(message_kind kind, uint64_t number, std::vector<std::byte> body) {
  (new message(*this, head(kind, number), std::move(body)))->start();
}

void link::send(std::vector<std::byte> frame) {
  if (endpoint_ && broken_.empty()) {
    // A frame left out would be missed by nobody: the order in it could hold a slot for ever.
    if (frame.size() > house_.options.max_frame_bytes) break_off("a frame to it is too large");
    if (unsent_frames_ >= house_.options.max_unsent_frames ||
        unsent_bytes_ + frame.size() > house_.options.max_unsent_bytes)
      break_off("it takes frames too slowly");
  }
  if (!endpoint_ || !broken_.empty()) {
    house_.discarded_out += 1;
    return;
  }
  house_.frames_out += 1;
  house_.bytes_out += frame.size();
  post(message_kind::frame, next_number_++, std::move(frame));
}

void link::pull(uint64_t offset, std::span<std::byte> into, pull_done done) {
  if (!endpoint_ || !broken_.empty()) return done(pull_status::lost);
  if (offset > pool_bytes_ || into.size() > pool_bytes_ - offset) return done(pull_status::refused);
  if (into.empty()) return done(pull_status::ok);
  if (one_sided_) return (new get(*this, offset, into, std::move(done)))->start();
  const uint64_t ticket = house_.next_ticket++;
  pulled_.emplace(ticket, std::make_unique<pulled>(pulled{into, std::move(done), into.size()}));
  const pull_range range{offset, into.size()};
  const auto* bytes = reinterpret_cast<const std::byte*>(&range);
  post(message_kind::pull_request, ticket, {bytes, bytes + sizeof range});
}

void link::answer(uint64_t ticket, const pull_range& range) {
  if (!endpoint_ || !broken_.empty()) return;
  const auto pool = house_.pool;
  if (range.offset > pool.size() || range.size > pool.size() - range.offset) {
    return post(message_kind::pull_refused, ticket, {});
  }
  (new reply(*this, ticket, pool.subspan(range.offset, range.size)))->start();
}

ucs_status_t link::on_part(message_kind kind, uint64_t ticket, void* data, size_t bytes, bool rendezvous) {
  const auto found = pulled_.find(ticket);
  if (found == pulled_.end()) return UCS_OK;
  auto& pull = *found->second;
  if (kind == message_kind::pull_refused) {
    end_pull(ticket, pull_status::refused);
    return UCS_OK;
  }
  const size_t size = pull.into.size();
  const bool small = size <= 2 * end_bytes;
  const bool middle = kind == message_kind::pull_middle;
  if (bytes != (middle ? size - 2 * end_bytes : small ? size : 2 * end_bytes) || (middle && small)) {
    break_off("it answered a pull with the wrong number of bytes");
    return UCS_OK;
  }
  if (rendezvous) {
    pull.receiving = true;
    (new part(*this, ticket, pull.into.subspan(end_bytes, bytes)))->start(data);
    return UCS_INPROGRESS;
  }
  const auto* from = static_cast<const std::byte*>(data);
  if (middle) {
    std::memcpy(pull.into.data() + end_bytes, from, bytes);
  } else if (small) {
    std::memcpy(pull.into.data(), from, bytes);
  } else {
    std::memcpy(pull.into.data(), from, end_bytes);
    std::memcpy(pull.into.data() + size - end_bytes, from + end_bytes, end_bytes);
  }
  pull.missing -= bytes;
  if (pull.missing == 0) end_pull(ticket, pull_status::ok);
  return UCS_OK;
}

void link::end_pull(uint64_t ticket, pull_status status) {
  auto node = pulled_.extract(ticket);
  auto& pull = *node.mapped();
  if (status == pull_status::ok) {
    house_.pulls += 1;
    house_.bytes_pulled += pull.into.size();
  }
  pull.done(status);
}

void link::drain() { (new flush(*this))->start(); }

void link::close() {
  if (!endpoint_) return;
  (new closing(*this))->start(std::exchange(endpoint_, nullptr));
  std::vector<uint64_t> waiting;
  for (auto& [ticket, pull] : pulled_) {
    pull->lost = true;
    if (!pull->receiving) waiting.push_back(ticket);  // else when UCX lets go of the memory
  }
  for (uint64_t ticket : waiting) end_pull(ticket, pull_status::lost);
}

}  // namespace troupe::ucx
