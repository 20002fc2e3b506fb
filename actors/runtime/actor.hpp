// An actor on the hot path translates messages into policy calls and decisions into messages. It
// knows neither threads nor CAF nor a clock; a CAF host (caf_host.hpp) runs it, the same in every
// environment.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "actors/runtime/events.hpp"
#include "policies/common/histogram.hpp"

namespace troupe {

/// One figure of an actor, for status and metrics. Names follow Prometheus.
struct metric {
  enum class kind { counter, gauge, histogram };
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
  kind type = kind::gauge;
  std::optional<histogram> distribution = {};  ///< of a histogram, whose `value` is their number
};

/// Where an actor's messages go. Delivery is in order per pair of actors as long as both live, and may fail
/// silently when a node dies: `node_down` says so.
class outbox {
 public:
  virtual ~outbox() = default;
  virtual void send(const address& from, const address& to, actor_message message) = 0;
};

class actor {
 public:
  actor(address self, outbox& out) : self_(self), out_(out) {}
  virtual ~actor() = default;
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;

  /// Takes one message. May only note it down: `on_time` follows in the same turn.
  virtual void on(envelope& e, time_point now) = 0;
  /// Called after the messages of a turn, and at `next_wakeup()`: decide and send.
  virtual void on_time(time_point now) = 0;
  virtual time_point next_wakeup() const = 0;
  /// It is ended, between turns: its last chance to tell those who wait for it.
  virtual void end(time_point) {}
  virtual void report(std::vector<metric>& out) const = 0;
  /// Does what a tool says, by the actor's protocol (messages/commands/commands.hpp). `on_time` follows.
  virtual command_reply on_command(const command& c, time_point now);
  /// In a word.
  virtual std::string_view state() const { return "serving"; }
  /// What must still be finished before the node may leave.
  virtual size_t unfinished() const { return 0; }
  /// Adds the nodes with which it has something under way, so that they must not leave yet.
  virtual void busy_with(std::vector<node_id>&) const {}

  const address& self() const { return self_; }
  /// Its node has begun a new incarnation; `new_incarnation` follows.
  virtual void begin_incarnation(incarnation_id incarnation) { self_.incarnation = incarnation; }

 protected:
  void send(const address& to, actor_message message) { out_.send(self_, to, std::move(message)); }
  /// The same actor name, wherever and whichever of its incarnations.
  static address on_node(node_id node, role kind, uint32_t index = 0) { return {node, {}, kind, index}; }

  address self_;

 private:
  outbox& out_;
};

inline command_reply actor::on_command(const command& c, time_point) {
  return {c.token, false, "takes no commands"};
}

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;  // clang needs it, up to 16

/// `handle(message)` if there is such an overload; other messages are ignored (they are not of this actor's
/// protocol).
template <class Handler>
void dispatch(actor_message& m, Handler&& handle) {
  std::visit(
      [&]<class M>(M& x) {
        if constexpr (requires { handle(x); }) handle(x);
      },
      m);
}

}  // namespace troupe
