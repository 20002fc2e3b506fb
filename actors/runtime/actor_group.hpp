// An actor_group owns actors that share a thread (in simulation, a turn) and runs them turn by turn. Messages
// between its actors never leave it; all others go to a message_sink at the end of the turn.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/actor_index.hpp"
#include "actors/runtime/ended_incarnations.hpp"
#include "policies/common/tournament.hpp"

namespace troupe {

/// One actor, for `troupe actors`.
struct actor_status {
  address name;
  std::string state;
  uint64_t messages = 0;         ///< delivered to it so far
  uint64_t pending = 0;          ///< waiting for it
  uint64_t mailbox_pending = 0;  ///< message batches in the mailbox of its CAF actor
};

/// Takes the messages of a turn that leave the group.
class message_sink {
 public:
  virtual ~message_sink() = default;
  /// May move from the envelopes. Called at the end of a turn, by the thread that takes it.
  virtual void carry(std::span<envelope> messages) = 0;
};

/// Not thread-safe: its CAF host calls it from one thread at a time.
class actor_group final : public outbox {
 public:
  explicit actor_group(message_sink& beyond) : beyond_(beyond) {}

  /// Whether senders may take its turns while its CAF host sleeps, as they do by default: not if turns are
  /// long.
  actor_group& direct(bool allowed) {
    direct_ = allowed;
    return *this;
  }
  bool is_direct() const { return direct_; }
  /// The CAF host's thread lets others go first (transport/common/low_priority.hpp). Requires: not direct.
  actor_group& low_priority() {
    low_priority_ = true;
    return *this;
  }
  bool has_low_priority() const { return low_priority_; }

  /// Builds an actor with this group as its outbox.
  template <class Actor, class... Args>
  Actor& add(address self, Args&&... args) {
    auto owned = std::make_unique<Actor>(self, *this, std::forward<Args>(args)...);
    auto& actor = *owned;
    adopt(std::move(owned));
    return actor;
  }

  /// Adds an actor that was built with this group as its outbox.
  void adopt(std::unique_ptr<actor> s);
  /// Ends an actor between turns, if it exists. Its last messages are delivered at once. Later messages to it
  /// are dropped; a `submit` is answered with `drops`. While it has unfinished work it still receives
  /// `batch_done` and broadcasts. Throws as `turn` does.
  void remove(role kind, uint32_t index, time_point now);

  /// One turn: delivers the messages in order, calls `on_time` of their receivers and of the actors that are
  /// due by `now`, delivers what these send to each other until nothing is left, and hands the rest to the
  /// sink. Throws `actor_exception` if an actor throws; nothing leaves then, and the group must not be used
  /// any more.
  void turn(message_batch& messages, time_point now);
  /// When the next turn is due if no message arrives.
  time_point next_wakeup() const { return wakeups_.best(); }

  /// Runs a command on the actor `to` as a turn of its own and returns the reply: not `ok` and empty if there
  /// is no such actor. Throws as `turn` does.
  command_reply run_command(const address& to, const command& c, time_point now);

  void report(std::vector<metric>& out) const;
  /// One row per actor. `waiting`: the messages of the next turn.
  std::vector<actor_status> statuses(std::span<const envelope> waiting) const;
  /// Work to finish before the node may leave: the sum over the actors, ended ones included.
  size_t unfinished() const;
  std::vector<node_id> busy_with() const;
  bool has(role kind, uint32_t index) const { return index_.find(kind, index) != actor_index::none; }
  std::vector<address> names() const;

  // outbox
  void send(const address& from, const address& to, actor_message message) override;

 private:
  struct hosted {
    std::unique_ptr<actor> instance;  ///< null: the place is free
    bool touched = false;
    bool ended = false;  ///< removed, with unfinished work
    uint64_t messages = 0;
  };

  static constexpr size_t about_time = ~size_t{0};
  void touch(uint32_t index);
  void release_ended(uint32_t index);
  void hand_over(envelope& e, time_point now);
  void settle(time_point now);
  void flush();
  template <class Work>
  auto guarded(Work&& work) const;
  [[noreturn]] void broken(const std::string& reason) const;

  message_sink& beyond_;
  node_id node_{~0u};
  uint32_t busy_ = actor_index::none;  ///< the actor that is called
  size_t over_ = about_time;           ///< index in the variant of the message that it is called with
  std::vector<hosted> actors_;
  uint32_t ended_ = 0;  ///< number of ended ones in `actors_`
  ended_incarnations dead_;
  actor_index index_;             ///< positions in `actors_`
  std::vector<envelope> inside_;  ///< those before `next_inside_` are delivered
  size_t next_inside_ = 0;
  std::vector<envelope> leaving_;
  std::vector<uint32_t> touched_, round_;
  tournament<time_point> wakeups_{never};
  bool direct_ = true;
  bool low_priority_ = false;
};

}  // namespace troupe
