// Pulls of a link, and its answers to pulls of the peer.
#include <cstring>
#include <utility>

#include "transport/common/fence.hpp"
#include "transport/fabric/ucx/handles.hpp"
#include "transport/fabric/ucx/link.hpp"

namespace troupe::ucx {

/// The answer to a peer's pull: the middle directly from the pool and, when UCX has read that, the ends.
class link::reply final : public operation {
 public:
  reply(link& via, uint32_t pull_number, std::span<const std::byte> range)
      : via_(via), head_(via.head(message_kind::pull_middle, pull_number)), range_(range) {}

  void start() {
    if (range_.size() <= 2 * end_bytes) {
      via_.post(message_kind::pull_ends, head_.number, {range_.begin(), range_.end()});
      delete this;
      return;
    }
    const auto middle = range_.subspan(end_bytes, range_.size() - 2 * end_bytes);
    const auto p = parameters();
    via_.started_one();
    started(ucp_am_send_nbx(via_.endpoint_, message_id, &head_, message_head::bytes, middle.data(),
                            middle.size(), &p));
  }

  void finished(ucs_status_t status) noexcept override {
    if (status == UCS_OK && via_.endpoint_) {
      const auto ends = read_ends(range_);
      via_.post(message_kind::pull_ends, head_.number, {ends.begin(), ends.end()});
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
  get(link& via, const arena_place& at, std::span<std::byte> into, pull_done done)
      : via_(via),
        remote_(via.arenas_[at.arena].base + at.offset),
        key_(via.arenas_[at.arena].key),
        into_(into),
        done_(std::move(done)) {}

  void start() {
    via_.gets_.insert(this);
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
      via_.shared_.count.pulls += 1;
      via_.shared_.count.bytes_pulled += into_.size();
    }
    via_.gets_.erase(this);
    if (done_) done_(failed_ ? pull_status::lost : pull_status::ok);
    delete this;
  }
  void abandon() {
    failed_ = true;
    std::exchange(done_, nullptr)(pull_status::lost);
  }

 private:
  void read(size_t at, size_t bytes) {
    via_.started_one();
    if (!via_.endpoint_) return finished(UCS_ERR_CANCELED);
    const auto p = parameters();
    started(ucp_get_nbx(via_.endpoint_, into_.data() + at, bytes, remote_ + at, key_, &p));
  }

  link& via_;
  uint64_t remote_;
  ucp_rkey_h key_;
  std::span<std::byte> into_;
  pull_done done_;
  bool ends_ = false, failed_ = false;
  int under_way_ = 0;
};

/// The middle of a pull that arrives by rendezvous, directly at its destination.
class link::part final : public operation {
 public:
  part(link& via, uint32_t pull_number, std::span<std::byte> into)
      : via_(via), pull_number_(pull_number), into_(into) {}

  void start(void* token) {
    auto p = parameters();
    p.cb.recv_am = [](void* request, ucs_status_t status, size_t, void* self) {
      ucp_request_free(request);
      static_cast<part*>(self)->finished(status);
    };
    via_.started_one();
    started(ucp_am_recv_data_nbx(via_.worker_, token, into_.data(), into_.size(), &p));
  }

  void finished(ucs_status_t status) noexcept override {
    auto& pull = *via_.pulled_.at(pull_number_);
    pull.receiving = false;
    if (status != UCS_OK) pull.lost = true;
    via_.finished_one(status, "pulling from it failed");
    if (pull.lost || pull.ends) {
      via_.end_pull(pull_number_, pull.lost ? pull_status::lost : pull_status::ok);
    }
    delete this;
  }

 private:
  link& via_;
  uint32_t pull_number_;
  std::span<std::byte> into_;
};

void link::pull(uint64_t offset, std::span<std::byte> into, copy_priority copying, pull_done done) {
  if (!endpoint_ || !broken_.empty()) return done(pull_status::lost);
  const auto at = place_of({offset, into.size()}, arena_sizes_);
  if (!at) return done(pull_status::refused);
  if (into.empty()) return done(pull_status::ok);
  const auto& arena = arenas_[at->arena];
  if (arena.here != nullptr && into.size() >= streaming_bytes) {
    // UCX would copy as well, but through the caches.
    auto& copies = copying == copy_priority::low ? shared_.low_copies : shared_.copies;
    const auto counted = [this, bytes = into.size(), done = std::move(done)](pull_status status) {
      if (status == pull_status::ok) {
        shared_.count.pulls += 1;
        shared_.count.bytes_pulled += bytes;
      }
      done(status);
    };
    return copies.add(this, {arena.here + at->offset, into.size()}, into, counted);
  }
  if (arena.one_sided) return (new get(*this, *at, into, std::move(done)))->start();
  const uint32_t pull_number = shared_.next_pull_number++;
  pulled_.emplace(pull_number, std::make_unique<pulled>(pulled{.into = into, .done = std::move(done)}));
  const pull_range range{offset, into.size()};
  const auto* bytes = reinterpret_cast<const std::byte*>(&range);
  post(message_kind::pull_request, pull_number, {bytes, bytes + sizeof range});
}

void link::answer(uint32_t pull_number, const pull_range& range) {
  if (!endpoint_ || !broken_.empty()) return;
  const auto found = shared_.memory.find(range);
  if (!found) return post(message_kind::pull_refused, pull_number, {});
  (new reply(*this, pull_number, *found))->start();
}

ucs_status_t link::on_part(message_kind kind, uint32_t pull_number, void* data, size_t bytes,
                           bool rendezvous) {
  const auto found = pulled_.find(pull_number);
  if (found == pulled_.end()) return UCS_OK;
  auto& pull = *found->second;
  if (kind == message_kind::pull_refused && !pull.middle && !pull.ends) {
    end_pull(pull_number, pull_status::refused);
    return UCS_OK;
  }
  const size_t size = pull.into.size();
  const bool small = size <= 2 * end_bytes;
  const bool middle = kind == message_kind::pull_middle;
  const size_t wanted = middle ? size - 2 * end_bytes : small ? size : 2 * end_bytes;
  bool& came = middle ? pull.middle : pull.ends;
  if (kind == message_kind::pull_refused || bytes != wanted || (middle ? small : rendezvous) || came) {
    break_off("its answer to a pull does not match the request");
    return UCS_OK;
  }
  came = true;
  if (rendezvous) {
    pull.receiving = true;
    (new part(*this, pull_number, pull.into.subspan(end_bytes, bytes)))->start(data);
    return UCS_INPROGRESS;
  }
  const auto* from = static_cast<const std::byte*>(data);
  if (middle) {
    std::memcpy(pull.into.data() + end_bytes, from, bytes);
  } else if (small) {
    std::memcpy(pull.into.data(), from, bytes);
  } else {
    range_ends ends;
    std::memcpy(ends.data(), from, ends.size());
    write_ends(ends, pull.into);
  }
  if (pull.ends && (pull.middle || small) && !pull.receiving) end_pull(pull_number, pull_status::ok);
  return UCS_OK;
}

void link::end_pull(uint32_t pull_number, pull_status status) {
  auto node = pulled_.extract(pull_number);
  auto& pull = *node.mapped();
  if (status == pull_status::ok) {
    shared_.count.pulls += 1;
    shared_.count.bytes_pulled += pull.into.size();
  }
  if (pull.done) pull.done(status);
}

void link::abandon(get& pull) { pull.abandon(); }

}  // namespace troupe::ucx
