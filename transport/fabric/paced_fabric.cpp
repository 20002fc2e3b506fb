#include "transport/fabric/paced_fabric.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "transport/fabric/paced_interface.hpp"
#include "transport/fabric/paced_pulls.hpp"

namespace troupe {
namespace {

/// The last byte of every frame. At the end of a frame it leaves the others aligned.
enum class paced_frame_kind : uint8_t { data, question, answer };

/// "Reserve time on your interface for this pull."
struct pace_question {
  uint64_t pull = 0;
  uint64_t bytes = 0;
  uint64_t from = 0;  ///< the node that pulls
};
struct pace_answer {
  uint64_t pull = 0;
  uint64_t ns = 0;  ///< until its time on the owner's interface is over
};

template <class Message>
std::vector<std::byte> pace_frame(const Message& message, paced_frame_kind kind) {
  std::vector<std::byte> frame(sizeof message + 1);
  std::memcpy(frame.data(), &message, sizeof message);
  frame.back() = static_cast<std::byte>(kind);
  return frame;
}
template <class Message>
std::optional<Message> read_pace_frame(std::span<const std::byte> body) {
  Message message;
  if (body.size() != sizeof message) return {};
  std::memcpy(&message, body.data(), sizeof message);
  return message;
}

class paced_fabric final : public fabric, private fabric_events {
 public:
  paced_fabric(std::unique_ptr<fabric> carrier, const paced_options& options, const clock& time)
      : self_(options.self),
        clock_(time),
        pulls_(static_cast<uint64_t>(time.now().time_since_epoch().count())),
        arriving_(options.gbit_per_s),
        leaving_(options.gbit_per_s),
        carrier_(std::move(carrier)) {}
  ~paced_fabric() override { stop(); }

  registered_memory allocate(memory_kind kind, size_t bytes) override {
    return carrier_->allocate(kind, bytes);
  }
  bool reaches(memory_kind kind) const override { return carrier_->reaches(kind); }
  std::string address() const override { return carrier_->address(); }

  void start(fabric_events& events) override {
    owner_ = &events;
    carrier_->start(*this);
  }
  void stop() override {
    stopped_.store(true);
    carrier_->stop();
    pulls_.lose_all();
    end_pulls();
  }

  void connect(node_id peer, incarnation_id incarnation, std::string address) override;
  void disconnect(node_id peer) override;
  void renew() override;
  void send(node_id to, std::vector<std::byte> frame) override {
    frame.push_back(static_cast<std::byte>(paced_frame_kind::data));
    carrier_->send(to, std::move(frame));
  }
  void begin_pull(node_id from, pull_plan plan, pull_done done) override;
  void post(std::function<void()> job) override { carrier_->post(std::move(job)); }
  fabric_stats stats() const override { return carrier_->stats(); }

 private:
  /// Bound on the questions of peers that are not connected yet. Others beyond it are not answered.
  static constexpr size_t max_unanswered = 4096;

  // fabric_events of the carrier
  void on_frame(std::span<const std::byte> bytes) override;
  void on_lost(node_id peer, incarnation_id incarnation, std::string why) override;
  void on_turn_end() override { owner_->on_turn_end(); }
  time_point tick_at() const override { return std::min(owner_->tick_at(), pulls_.due()); }
  void on_tick(time_point now) override {
    end_pulls();
    if (now >= owner_->tick_at()) owner_->on_tick(now);
  }

  std::optional<incarnation_id> connected(node_id peer) const;
  void on_question(const pace_question& question);
  void answer(const pace_question& question);
  void on_copied(uint64_t pull, pull_status how);
  /// On the fabric's thread, or when it has stopped.
  void end_pulls() {
    for (auto& [done, how] : pulls_.take(clock_.now())) done(how);
  }
  void end_pulls_soon() {
    carrier_->post([this] { end_pulls(); });
  }

  const node_id self_;
  const clock& clock_;
  fabric_events* owner_ = nullptr;
  std::atomic<bool> stopped_{false};
  paced_pulls pulls_;

  /// Held during calls to the carrier, so that it sees connections and paced pulls in the same order as
  /// `peers_` and `pulls_`. They call nothing of the owner's.
  std::mutex order_;
  mutable std::mutex mutex_;                 ///< of all below, taken after `order_`
  std::map<node_id, incarnation_id> peers_;  ///< that are connected
  std::vector<pace_question> unanswered_;    ///< of peers that are not connected yet
  paced_interface arriving_, leaving_;

  const std::unique_ptr<fabric> carrier_;  // the first to be destroyed
};

// ---- any thread ----

void paced_fabric::connect(node_id peer, incarnation_id incarnation, std::string address) {
  std::vector<pace_question> waiting;
  {
    const std::lock_guard in_order(order_);
    carrier_->connect(peer, incarnation, std::move(address));
    pulls_.lose(peer);  // of the earlier connection
    const std::lock_guard lock(mutex_);
    peers_[peer] = incarnation;
    const auto others = std::partition(unanswered_.begin(), unanswered_.end(),
                                       [&](const pace_question& q) { return q.from != peer.value; });
    waiting.assign(others, unanswered_.end());
    unanswered_.erase(others, unanswered_.end());
  }
  for (const auto& q : waiting) answer(q);
  end_pulls_soon();
}

void paced_fabric::disconnect(node_id peer) {
  {
    const std::lock_guard in_order(order_);
    carrier_->disconnect(peer);
    pulls_.lose(peer);
    const std::lock_guard lock(mutex_);
    peers_.erase(peer);
  }
  end_pulls_soon();
}

void paced_fabric::renew() {
  carrier_->renew();  // it may wait for the fabric's thread
  {
    const std::lock_guard in_order(order_);
    pulls_.lose_all();
    const std::lock_guard lock(mutex_);
    peers_.clear();
    unanswered_.clear();
  }
  end_pulls_soon();
}

void paced_fabric::begin_pull(node_id from, pull_plan plan, pull_done done) {
  const auto bytes = plan.bytes();
  const auto begin = [&](pull_done how) { carrier_->begin_pull(from, std::move(plan), std::move(how)); };
  if (stopped_.load()) return done(pull_status::lost);
  if (bytes <= paced_bytes) return begin(std::move(done));
  std::unique_lock in_order(order_);
  const auto incarnation = connected(from);
  if (!incarnation) {  // this process, or a stranger
    in_order.unlock();
    return begin(std::move(done));
  }
  const auto end = [&] {
    const std::lock_guard lock(mutex_);
    return arriving_.reserve(bytes, clock_.now());
  }();
  const auto number = pulls_.add(from, *incarnation, end, std::move(done));
  carrier_->send(from, pace_frame(pace_question{number, bytes, self_.value}, paced_frame_kind::question));
  begin([this, number](pull_status how) { on_copied(number, how); });
  in_order.unlock();
  if (!pulls_.begun(number)) return;
  if (stopped_.load())
    end_pulls();
  else
    end_pulls_soon();
}

std::optional<incarnation_id> paced_fabric::connected(node_id peer) const {
  const std::lock_guard lock(mutex_);
  const auto it = peers_.find(peer);
  return it == peers_.end() ? std::nullopt : std::optional(it->second);
}

void paced_fabric::answer(const pace_question& question) {
  const auto now = clock_.now();
  const auto end = [&] {
    const std::lock_guard lock(mutex_);
    return leaving_.reserve(question.bytes, now);
  }();
  const auto left = std::max<duration>(end - now, 0ns).count();
  carrier_->send(
      node_id{static_cast<uint32_t>(question.from)},
      pace_frame(pace_answer{question.pull, static_cast<uint64_t>(left)}, paced_frame_kind::answer));
}

// ---- the carrier's thread ----

void paced_fabric::on_frame(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const auto body = bytes.first(bytes.size() - 1);
  switch (static_cast<paced_frame_kind>(bytes.back())) {
    case paced_frame_kind::data: return owner_->on_frame(body);
    case paced_frame_kind::question:
      if (const auto q = read_pace_frame<pace_question>(body)) on_question(*q);
      return;
    case paced_frame_kind::answer:
      if (const auto a = read_pace_frame<pace_answer>(body))
        pulls_.answered(a->pull, clock_.now() + duration{static_cast<int64_t>(a->ns)});
      return;
  }
}

void paced_fabric::on_question(const pace_question& question) {
  {
    const std::lock_guard lock(mutex_);
    if (!peers_.contains(node_id{static_cast<uint32_t>(question.from)})) {
      if (unanswered_.size() < max_unanswered) unanswered_.push_back(question);
      return;
    }
  }
  answer(question);
}

void paced_fabric::on_copied(uint64_t pull, pull_status how) {
  if (pulls_.copied(pull, how)) end_pulls();  // else this is within the call of `pull`, which goes on
}

void paced_fabric::on_lost(node_id peer, incarnation_id incarnation, std::string why) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = peers_.find(peer);
    if (it != peers_.end() && it->second == incarnation) peers_.erase(it);
  }
  pulls_.lose(peer, incarnation);
  end_pulls();
  owner_->on_lost(peer, incarnation, std::move(why));
}

}  // namespace

std::unique_ptr<fabric> make_paced_fabric(std::unique_ptr<fabric> carrier, const paced_options& options,
                                          const clock& time) {
  return std::make_unique<paced_fabric>(std::move(carrier), options, time);
}

}  // namespace troupe
