#include "transport/fabric/sim_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <utility>

namespace troupe {
namespace {

constexpr std::string_view prefix = "sim:";

/// The process number in an address; 0 if the address is malformed.
uint64_t process_at(std::string_view address) {
  uint64_t process = 0;
  if (!address.starts_with(prefix)) return 0;
  address.remove_prefix(prefix.size());
  std::from_chars(address.data(), address.data() + address.size(), process);
  return process;
}

}  // namespace

registered_memory sim_memory::process_memory::add(size_t bytes, memory_kind kind) {
  constexpr size_t page = 4096;
  size_t room = bytes + page;
  void* start = std::calloc(room, 1);
  if (start == nullptr) throw std::bad_alloc();
  blocks_.emplace_back(start);
  std::align(page, bytes, start, room);
  return all_.add({static_cast<std::byte*>(start), bytes}, kind);
}

void sim_memory::process_memory::freed::operator()(void* p) const { std::free(p); }

const arenas* sim_memory::find(uint64_t process) const {
  const auto it = processes_.find(process);
  return it == processes_.end() ? nullptr : &it->second->all();
}

class sim_fabric final : public fabric, private sim_port {
 public:
  sim_fabric(sim_timeline& timeline, sim_network& network, sim_memory& memory, node_id self, uint64_t process,
             const clock& time)
      : timeline_(timeline),
        network_(network),
        memory_(memory),
        self_(self),
        process_(process),
        clock_(time) {}
  ~sim_fabric() override { stop(); }

  registered_memory allocate(memory_kind kind, size_t bytes) override {
    if (!reaches(kind)) throw std::runtime_error("the simulated fabric registers host memory only");
    return own_memory_->add(bytes, kind);
  }
  bool reaches(memory_kind kind) const override { return kind == memory_kind::host; }

  void start(fabric_events& events) override {
    events_ = &events;
    network_.attach(self_, sim_lane::data, this);
    run([] {});
  }

  void stop() override {
    if (events_ == nullptr) return;
    network_.attach(self_, sim_lane::data, nullptr);
    events_ = nullptr;
    peers_.clear();
  }

  std::string address() const override { return fmt::format("{}{}", prefix, process_); }

  void connect(node_id peer, incarnation_id incarnation, std::string address) override {
    const auto process = process_at(address);
    const auto connection = ++last_connection_;
    peers_[peer] = {incarnation, process, connection, network_.is_cut(self_, peer)};
    if (process == 0) notice_loss(peer, connection, timeline_.now(), "malformed address");
    if (peers_[peer].broken)
      notice_loss(peer, connection,
                  timeline_.now() + duration{static_cast<int64_t>(timeline_.draw() % 20'000'000)},
                  "could not connect");
  }
  void disconnect(node_id peer) override { peers_.erase(peer); }
  void renew() override {
    peers_.clear();
    network_.hear_again(self_);
  }

  void send(node_id to, std::vector<std::byte> frame) override {
    const auto it = peers_.find(to);
    if (it == peers_.end()) {
      ++stats_.discarded_out;
      return;
    }
    ++stats_.frames_out;
    stats_.bytes_out += frame.size();
    if (!it->second.broken) network_.send(self_, to, sim_lane::data, it->second.process, std::move(frame));
  }

  void begin_pull(node_id from, pull_plan plan, pull_done done) override {
    if (events_ == nullptr) return done(pull_status::lost);
    const auto place = pulls_.add({from, 0, process_, std::move(plan), std::move(done), 0, false});
    auto& p = pulls_[place];
    if (from != self_) {
      const auto it = peers_.find(from);
      if (it == peers_.end()) return run([this, place] { pulls_.end(place, pull_status::lost); });
      p.connection = it->second.connection;
      p.process = it->second.process;
    }
    auto arrival = network_.transfer(self_, from, 64);
    p.whole = timeline_.draw() % 4 > 0;
    if (!p.whole) return advance_at(arrival, place);
    if (const auto bytes = charged(p, 0, p.plan.bytes()); bytes <= sim_network::max_packet)
      advance_at(arrival + network_.transfer(from, self_, bytes) - timeline_.now(), place);
    else
      timeline_.at(arrival, sim_event::pull, self_,
                   [this, place] { fetch(place, charged(pulls_[place], 0, pulls_[place].plan.bytes())); });
  }

  void post(std::function<void()> job) override { run(std::move(job)); }

  fabric_stats stats() const override { return stats_; }

 private:
  struct neighbour {
    incarnation_id incarnation;
    uint64_t process;
    uint64_t connection;
    bool broken;
  };
  struct pulling {
    node_id from;
    uint64_t connection;
    uint64_t process;
    pull_plan plan;
    pull_done done;
    uint64_t next;  ///< so many bytes, in the order of the plan, are copied
    bool whole;     ///< all bytes are copied at once, when they arrive: one event instead of three
  };

  /// The pulls under way. Their places are reused, so that an event holds two words and allocates nothing.
  class pull_table {
   public:
    uint32_t add(pulling p) {
      if (free_.empty()) {
        all_.push_back(std::move(p));
        return static_cast<uint32_t>(all_.size() - 1);
      }
      const auto place = free_.back();
      free_.pop_back();
      all_[place] = std::move(p);
      return place;
    }
    pulling& operator[](uint32_t place) { return all_[place]; }
    void end(uint32_t place, pull_status how) {
      const auto done = std::exchange(all_[place].done, nullptr);
      free_.push_back(place);
      done(how);
    }

   private:
    std::deque<pulling> all_;
    std::vector<uint32_t> free_;
  };

  /// Runs the job in a turn of the progress loop: the current one, or a new one.
  template <class Job>
  void turn(Job&& job) {
    if (events_ == nullptr) return;
    job();
    if (std::exchange(in_turn_, true)) return;
    timeline_.at(timeline_.now() + network_.turn(), sim_event::job, self_, [this] { end_turn(); });
  }
  void end_turn() {
    in_turn_ = false;
    if (events_ == nullptr) return;
    if (const auto now = clock_.now(); now >= events_->tick_at()) events_->on_tick(now);
    events_->on_turn_end();
    arm();
  }
  template <class Job>
  void run(Job job) {
    timeline_.at(timeline_.now(), sim_event::job, self_, [this, job = std::move(job)] { turn(job); });
  }
  void arm() {
    const auto due = events_->tick_at();
    if (due == never || due == armed_) return;
    armed_ = due;
    timeline_.at_local(due, sim_event::tick, self_, [this, due] {
      if (armed_ != due) return;
      armed_ = never;
      turn([] {});
    });
  }

  void receive(node_id, std::span<sim_packet> packets) override {
    turn([&] {
      for (auto& p : packets) {
        if (p.connection != process_) {
          ++stats_.discarded_in;
          continue;
        }
        ++stats_.frames_in;
        stats_.bytes_in += p.bytes.size();
        events_->on_frame(p.bytes);
      }
    });
  }

  void broken(node_id peer, duration noticed_at) override {
    const auto it = peers_.find(peer);
    if (it == peers_.end() || it->second.broken) return;
    it->second.broken = true;
    notice_loss(peer, it->second.connection, noticed_at, "connection reset");
  }
  void notice_loss(node_id peer, uint64_t connection, duration at, const char* why) {
    timeline_.at(at, sim_event::network, self_, [this, peer, connection, why] {
      const auto it = peers_.find(peer);
      if (it == peers_.end() || it->second.connection != connection) return;
      const auto incarnation = it->second.incarnation;
      peers_.erase(it);
      turn([&] { events_->on_lost(peer, incarnation, why); });
    });
  }

  /// Copies all at once, or in three pieces with time between them: two for the early ranges, then the last.
  void advance(uint32_t place) {
    auto* const p = &pulls_[place];
    if (network_.stalled(self_, p->from))
      return network_.when_passing(self_, p->from, self_, [this, place] { advance(place); });
    const auto* source = p->from == self_ ? &own_memory_->all() : memory_.find(p->process);
    const auto it = peers_.find(p->from);
    const bool connected = p->from == self_ || (it != peers_.end() &&
                                                it->second.connection == p->connection && !it->second.broken);
    if (!connected || source == nullptr) {
      // A reader notices the loss no sooner than other peers do.
      timeline_.at(timeline_.now() + duration{static_cast<int64_t>(timeline_.draw() % 5'000'000)},
                   sim_event::pull, self_,
                   [this, place] { turn([&] { pulls_.end(place, pull_status::lost); }); });
      return;
    }
    const auto& plan = p->plan;
    const auto all = plan.bytes(), early = all - plan.last_bytes();
    if (!source->has(plan)) return turn([&] { pulls_.end(place, pull_status::refused); });
    if (p->whole) {
      copy(*source, plan, 0, all);
    } else if (p->next < early) {
      const auto left = early - p->next;
      const auto piece = p->next == 0 ? timeline_.draw() % (left + 1) : left;
      copy(*source, plan, p->next, piece);
      p->next += piece;
      const auto last = piece == left ? plan.last_bytes() : 0;
      return fetch(place, charged(*p, p->next - piece, piece + last));
    } else {
      copy(*source, plan, early, all - early);
    }
    if (plan.bulk) network_.count_images(p->from, self_, all * network_.image_scale());
    if (network_.corrupts(self_) && plan.bulk && timeline_.draw() % 2 == 0)
      each_part(plan, early > 0 ? early / 2 : all / 2, 1,
                [](const pulled_range& part) { part.into[0] ^= std::byte{1}; });
    ++stats_.pulls;
    stats_.bytes_pulled += all;
    turn([&] { pulls_.end(place, pull_status::ok); });
  }
  /// Calls `act(part)` for the parts of the ranges that have bytes [first, first + bytes) in the plan's
  /// order.
  template <class Act>
  static void each_part(const pull_plan& plan, uint64_t first, uint64_t bytes, Act act) {
    for (const auto& r : plan.ranges) {
      const uint64_t size = r.into.size();
      if (first < size && bytes > 0) {
        const auto n = std::min(bytes, size - first);
        const pulled_range part{r.offset + first, r.into.subspan(first, n)};
        act(part);
        bytes -= n;
      }
      first -= std::min(first, size);
    }
  }
  /// Requires: `source` has the plan's ranges.
  static void copy(const arenas& source, const pull_plan& plan, uint64_t first, uint64_t bytes) {
    each_part(plan, first, bytes, [&](const pulled_range& part) {
      std::memcpy(part.into.data(), source.find(part.range())->data(), part.into.size());
    });
  }
  /// On the network, for these bytes of a pull. Only images are pulled in bulk.
  uint64_t charged(const pulling& p, uint64_t first, uint64_t bytes) const {
    uint64_t out = 64;
    each_part(p.plan, first, bytes, [&](const pulled_range& part) {
      out += part.into.size() * (p.plan.bulk ? network_.image_scale() : 1);
    });
    return out;
  }
  void fetch(uint32_t place, uint64_t bytes) {
    const auto from = pulls_[place].from;
    if (bytes <= sim_network::max_packet) return advance_at(network_.transfer(from, self_, bytes), place);
    network_.move(from, self_, bytes, [this, place] { advance(place); });
  }
  void advance_at(duration t, uint32_t place) {
    timeline_.at(t, sim_event::pull, self_, [this, place] { advance(place); });
  }

  sim_timeline& timeline_;
  sim_network& network_;
  sim_memory& memory_;
  const node_id self_;
  const uint64_t process_;
  const clock& clock_;
  const std::shared_ptr<sim_memory::process_memory> own_memory_ = memory_.begin(process_);
  fabric_events* events_ = nullptr;
  std::map<node_id, neighbour> peers_;
  uint64_t last_connection_ = 0;
  time_point armed_ = never;
  bool in_turn_ = false;
  pull_table pulls_;
  fabric_stats stats_;
};

std::unique_ptr<fabric> make_sim_fabric(sim_timeline& timeline, sim_network& network, sim_memory& memory,
                                        node_id self, uint64_t process, const clock& time) {
  return std::make_unique<sim_fabric>(timeline, network, memory, self, process, time);
}

}  // namespace troupe
