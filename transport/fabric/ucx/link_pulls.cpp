// Pulls of a link, and its answers to pulls of the peer.
#include <cstring>
#include <utility>

#include "transport/common/fence.hpp"
#include "transport/common/streaming_copy.hpp"
#include "transport/fabric/ucx/handles.hpp"
#include "transport/fabric/ucx/link.hpp"

namespace troupe::ucx {

/// The answer to a peer's pull: the early ranges directly from the arenas and, when UCX has read them, the
/// last ones. Deletes itself when it is over.
class link::reply {
 public:
  reply(link& via, uint32_t pull_number, pull_sources ranges, size_t early)
      : via_(via), pull_number_(pull_number), ranges_(std::move(ranges)), early_(early) {}

  /// Sends what the window allows, or the last ranges. A part may end within the call that sends it, and
  /// calls this again.
  void go_on();
  void ended_one(bool well) {
    --under_way_;
    failed_ = failed_ || !well;
    go_on();
  }

 private:
  link& via_;
  const uint32_t pull_number_;
  const pull_sources ranges_;
  const size_t early_;
  size_t next_ = 0, under_way_ = 0;
  bool going_on_ = false, failed_ = false;
};

/// The message with an early range.
class link::reply_part final : public operation {
 public:
  reply_part(link& via, reply& of, message_head head) : via_(via), of_(of), head_(head) {}
  void start(std::span<const std::byte> range) {
    const auto p = parameters();
    via_.started_one();
    started(ucp_am_send_nbx(via_.endpoint_, message_id, &head_, message_head::bytes, range.data(),
                            range.size(), &p));
  }
  void finished(ucs_status_t status) noexcept override {
    auto& of = of_;
    via_.finished_one(status, "answering its pull failed");
    delete this;
    of.ended_one(status == UCS_OK);
  }

 private:
  link& via_;
  reply& of_;
  message_head head_;
};

void link::reply::go_on() {
  if (std::exchange(going_on_, true)) return;
  while (next_ < early_ && under_way_ < max_ranges_at_once && !failed_) {
    if (!via_.goes_on()) {
      failed_ = true;
      break;
    }
    const auto number = next_++;
    if (ranges_[number].empty()) continue;
    ++under_way_;
    auto head = via_.head(message_kind::pull_early, pull_number_);
    head.stream = static_cast<uint32_t>(number);
    (new reply_part(via_, *this, head))->start(ranges_[number]);
  }
  going_on_ = false;
  if (under_way_ > 0) return;
  if (!failed_ && via_.goes_on())
    via_.post(message_kind::pull_last, pull_number_, read_last(ranges_, early_));
  delete this;
}

/// A one-sided pull: the early ranges, and then the last ones.
class link::get final : public operation {
 public:
  get(link& via, pull_plan plan, std::vector<arena_place> places, pull_done done)
      : via_(via),
        plan_(std::move(plan)),
        places_(std::move(places)),
        done_(std::move(done)),
        limit_(plan_.early) {}

  void start() {
    via_.gets_.insert(this);
    go_on();
  }
  void finished(ucs_status_t status) noexcept override {
    if (status != UCS_OK) failed_ = true;
    via_.finished_one(status, "pulling from it failed");
    --under_way_;
    go_on();
  }
  void abandon() {
    failed_ = true;
    std::exchange(done_, nullptr)(pull_status::lost);
  }

 private:
  /// Reads what the window allows, or ends. A read may end within its call, and calls this again.
  void go_on() {
    if (std::exchange(going_on_, true)) return;
    const auto all = plan_.ranges.size();
    while (true) {
      while (next_ < limit_ && under_way_ < max_ranges_at_once && !failed_) read(next_++);
      if (under_way_ > 0 || failed_ || limit_ == all) break;
      read_fence();
      limit_ = all;
    }
    going_on_ = false;
    if (under_way_ == 0) end();
  }
  void read(size_t number) {
    const auto into = plan_.ranges[number].into;
    if (into.empty()) return;
    if (!via_.goes_on()) {
      failed_ = true;
      return;
    }
    const auto& at = places_[number];
    const auto& arena = via_.arenas_[at.arena];
    ++under_way_;
    via_.started_one();
    const auto p = parameters();
    started(ucp_get_nbx(via_.endpoint_, into.data(), into.size(), arena.base + at.offset, arena.key, &p));
  }
  void end() {
    if (!failed_) via_.shared_.count.add_pull(plan_);
    via_.gets_.erase(this);
    if (done_) done_(failed_ ? pull_status::lost : pull_status::ok);
    delete this;
  }

  link& via_;
  const pull_plan plan_;
  const std::vector<arena_place> places_;
  pull_done done_;
  size_t next_ = 0, limit_, under_way_ = 0;  ///< ranges before `limit_` may be read
  bool going_on_ = false, failed_ = false;
};

/// An early range of a pull that arrives by rendezvous, directly at its destination.
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
    --pull.receiving;
    if (status != UCS_OK) pull.lost = true;
    via_.finished_one(status, "pulling from it failed");
    if (pull.over()) via_.end_pull(pull_number_, pull.lost ? pull_status::lost : pull_status::ok);
    delete this;
  }

 private:
  link& via_;
  uint32_t pull_number_;
  std::span<std::byte> into_;
};

void link::pull(pull_plan plan, pull_done done) {
  if (!endpoint_ || !broken_.empty()) return done(pull_status::lost);
  std::vector<arena_place> places;
  places.reserve(plan.ranges.size());
  bool here = true, one_sided = true;
  for (const auto& r : plan.ranges) {
    const auto at = place_of(r.range(), arena_sizes_);
    if (!at) return done(pull_status::refused);
    here = here && arenas_[at->arena].here != nullptr;
    one_sided = one_sided && arenas_[at->arena].one_sided;
    places.push_back(*at);
  }
  const auto bytes = plan.bytes();
  if (bytes == 0) return done(pull_status::ok);
  if (here && bytes >= streaming_bytes) return copy(std::move(plan), places, std::move(done));
  if (one_sided) return (new get(*this, std::move(plan), std::move(places), std::move(done)))->start();
  const uint32_t pull_number = shared_.next_pull_number++;
  auto request = encode_request(plan);
  auto p = std::make_unique<pulled>();
  p->plan = std::move(plan);
  p->done = std::move(done);
  const auto early = p->plan.early;
  p->came.resize(early + 1);
  p->to_come = 1;
  for (size_t i = 0; i < early; ++i) {
    p->came[i] = p->plan.ranges[i].into.empty();
    p->to_come += !p->came[i];
  }
  pulled_.emplace(pull_number, std::move(p));
  post(message_kind::pull_request, pull_number, std::move(request));
}

/// UCX would copy as well, but through the caches and on this thread.
void link::copy(pull_plan plan, const std::vector<arena_place>& places, pull_done done) {
  pull_sources from;
  from.reserve(places.size());
  for (size_t i = 0; i < places.size(); ++i)
    from.emplace_back(arenas_[places[i].arena].here + places[i].offset, plan.ranges[i].into.size());
  auto& copies = plan.bulk ? shared_.low_copies : shared_.copies;
  const auto counted = [this, bytes = plan.bytes(), done = std::move(done)](pull_status status) {
    if (status == pull_status::ok) {
      shared_.count.pulls += 1;
      shared_.count.bytes_pulled += bytes;
    }
    done(status);
  };
  copies.add(this, std::move(from), std::move(plan), counted);
}

void link::answer(uint32_t pull_number, const pull_request& request) {
  if (!endpoint_ || !broken_.empty()) return;
  auto found = shared_.memory.find_all(request.ranges);
  if (!found) return refuse(pull_number);
  (new reply(*this, pull_number, std::move(*found), request.early))->go_on();
}

void link::refuse(uint32_t pull_number) {
  if (endpoint_ && broken_.empty()) post(message_kind::pull_refused, pull_number, {});
}

ucs_status_t link::on_part(const message_head& head, void* data, size_t bytes, bool rendezvous) {
  const auto found = pulled_.find(head.number);
  if (found == pulled_.end()) return UCS_OK;
  auto& pull = *found->second;
  if (pull.lost) return UCS_OK;
  const auto early = pull.plan.early;
  if (head.kind == message_kind::pull_refused && !pull.begun) {
    end_pull(head.number, pull_status::refused);
    return UCS_OK;
  }
  const bool last = head.kind == message_kind::pull_last;
  const size_t number = last ? early : head.stream;
  const bool exists = head.kind == message_kind::pull_early ? number < early : last && !rendezvous;
  const size_t wanted = !exists ? 0 : last ? pull.plan.last_bytes() : pull.plan.ranges[number].into.size();
  if (!exists || bytes != wanted || pull.came[number]) {
    break_off("its answer to a pull does not match the request");
    return UCS_OK;
  }
  pull.begun = pull.came[number] = true;
  --pull.to_come;
  if (rendezvous) {
    ++pull.receiving;
    (new part(*this, head.number, pull.plan.ranges[number].into))->start(data);
    return UCS_INPROGRESS;
  }
  const auto* from = static_cast<const std::byte*>(data);
  if (last)
    write_last(pull.plan, {from, bytes});
  else
    std::memcpy(pull.plan.ranges[number].into.data(), from, bytes);
  if (pull.over()) end_pull(head.number, pull_status::ok);
  return UCS_OK;
}

void link::end_pull(uint32_t pull_number, pull_status status) {
  auto node = pulled_.extract(pull_number);
  auto& pull = *node.mapped();
  if (status == pull_status::ok) shared_.count.add_pull(pull.plan);
  if (pull.done) pull.done(status);
}

void link::abandon(get& pull) { pull.abandon(); }

}  // namespace troupe::ucx
