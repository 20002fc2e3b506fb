// A kind of actor, as registered by a plug-in: it counts its messages.
#pragma once
#include <doctest/doctest.h>

#include <memory>

#include "actors/extension/extension.hpp"
#include "plugins/protocol.hpp"

namespace troupe {

struct add_count {
  static constexpr const char* about = "counts as so many messages";
  uint32_t messages = 0;
  TROUPE_MESSAGE(add_count, messages)
};
struct counted {
  uint64_t messages = 0;
  TROUPE_MESSAGE(counted, messages)
};
using counting_commands = type_list<exchange<add_count, counted>>;

class counting_actor final : public actor {
 public:
  explicit counting_actor(const extension_parts& parts) : actor(parts.self, parts.out) {}
  void on(envelope&, time_point) override { ++count_; }
  void on_time(time_point) override {}
  time_point next_wakeup() const override { return never; }
  command_reply on_command(const command& c, time_point) override {
    return run_command(counting_commands{}, c,
                       [&](const add_count& a) { return counted{count_ += a.messages}; });
  }
  void report(std::vector<metric>& out) const override {
    out.push_back({"count", {}, static_cast<double>(count_), metric::kind::counter});
  }

 private:
  uint64_t count_ = 0;
};

/// A cluster with two plug-ins and two actors: 0 is of an unregistered kind, 1 counts and is of the second
/// plug-in.
inline cluster_spec counting_cluster() {
  extensions().add("counting/counter",
                   {[](const extension_parts& parts) { return std::make_unique<counting_actor>(parts); },
                    protocol_of(counting_commands{})});
  cluster_spec cluster;
  cluster.plugins = {{"other", "1", "", {}}, {"counting", "1", "", {}}};
  cluster.actors = {{1, "nobody", node_id{0}}, {1, "counter", node_id{0}}};
  return cluster;
}

/// For actors whose messages no test reads.
struct no_outbox final : outbox {
  void send(const address&, const address&, actor_message) override {}
};

}  // namespace troupe
