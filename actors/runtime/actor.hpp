// The base class of actors. An actor translates messages into policy calls and decisions into messages. It
// knows neither threads nor CAF nor a clock: its group (actor_group.hpp) calls it from one thread at a time,
// in every environment alike. An exception from an actor ends its process (supervision.hpp).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "actors/runtime/events.hpp"
#include "policies/common/histogram.hpp"

namespace troupe {

/// One metric of an actor. Names follow Prometheus.
struct metric {
  /// summary: a quantile, with the label "quantile", or NAME_sum or NAME_count beside those of NAME.
  enum class kind { counter, gauge, histogram, summary };
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
  kind type = kind::gauge;
  std::optional<histogram> distribution = {};  ///< of a histogram; its `value` is the number of samples
};

/// Takes the messages that actors send. Delivery is in order per pair of actors while both live. Messages to
/// a node that dies may be lost without an error; `node_down` follows.
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

  /// Handles one message. It may only record it: `on_time` follows in the same turn.
  virtual void on(envelope& e, time_point now) = 0;
  /// Decides and sends; called after the messages of a turn, and at `next_wakeup()`.
  virtual void on_time(time_point now) = 0;
  virtual time_point next_wakeup() const = 0;
  /// Called between turns as the actor is removed: it answers the actors that still wait for it.
  virtual void end(time_point) {}
  virtual void report(std::vector<metric>& out) const = 0;
  /// Executes a command of the actor's protocol (messages/commands/commands.hpp). `on_time` follows.
  virtual command_reply on_command(const command& c, time_point now);
  /// One word, for `troupe actors`.
  virtual std::string_view state() const { return "serving"; }
  /// Amount of work that must finish before the node may leave.
  virtual size_t unfinished() const { return 0; }
  /// Appends the nodes that must not leave yet, because unfinished work involves them.
  virtual void busy_with(std::vector<node_id>&) const {}

  const address& self() const { return self_; }
  /// Its node has begun a new incarnation; `new_incarnation` follows.
  virtual void begin_incarnation(incarnation_id incarnation) { self_.incarnation = incarnation; }

 protected:
  void send(const address& to, actor_message message) { out_.send(self_, to, std::move(message)); }
  /// Address of an actor in any incarnation of its node.
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

/// Calls `handle(message)` if there is such an overload. Other messages are not of the actor's protocol and
/// are ignored.
template <class Handler>
void dispatch(actor_message& m, Handler&& handle) {
  std::visit(
      [&]<class M>(M& x) {
        if constexpr (requires { handle(x); }) handle(x);
      },
      m);
}

}  // namespace troupe
