// console executes the commands of the `troupe` tools on its node and answers with JSON; one per node. It
// passes commands for actors of another node to the console there. The number of open commands, their
// duration and the size of an answer are bounded.
//
// Verbs: "status", "actors" (of this node); "ask" and "tell" with the argument
// {"actor": NAME, "type": COMMAND, "fields": {...}}; and the commands of the deployer, with their fields as
// argument.
#pragma once
#include <caf/typed_event_based_actor.hpp>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>

#include "actors/operator/metrics.hpp"
#include "actors/runtime/control_lane.hpp"
#include "actors/runtime/supervision.hpp"
#include "actors/tensor/catalog.hpp"
#include "messages/cluster/cluster.hpp"

namespace troupe {

using console_protocol =
    caf::typed_actor<caf::replies_to<command>::with<command_reply>,  // from a tool
                     caf::reacts_to<control_frame>,                  // from another console
                     caf::reacts_to<command_reply, uint64_t>,        // from an actor of this node
                     caf::reacts_to<group_report, uint64_t>,         // answer to a query of its own
                     caf::reacts_to<wake_atom, uint64_t>>;           // timeout of a command

class console {
 public:
  using handle = console_protocol;
  static constexpr const char* name = "console";

  static constexpr size_t max_open = 64;              ///< open commands; more are refused
  static constexpr size_t longest_command = 1 << 20;  ///< bytes
  static constexpr size_t longest_answer = 8 << 20;   ///< bytes
  static constexpr auto timeout = std::chrono::seconds(2);

  /// Sends a command to a CAF actor of this node.
  using messenger = std::function<void(command_query)>;

  struct facts {
    const cluster_spec& cluster;
    node_id self;
    std::function<uint64_t()> incarnation;
    std::function<bool()> ready;
    const catalog& models;
    metrics_protocol metrics;
    deployer_protocol deployments;
    troupe::post& post;
    control_lane& control;
    std::map<role, messenger> others;  ///< the other CAF actors of this node
    uint32_t restarts = 0;             ///< of this node, by its supervisor
    std::string last_end{};            ///< how the previous process ended
  };

  console(handle::pointer self, facts f);
  handle::behavior_type make_behavior();
  /// After an exception: answers all open commands with an error.
  void forget();

 private:
  using requester = std::variant<caf::typed_response_promise<command_reply>, address>;
  struct open {
    uint64_t number;
    uint64_t token;
    requester who;
    std::string verb, actor;
    duration limit = timeout;  ///< zero: none
  };

  caf::result<command_reply> on_command(const command& c);
  void on_frame(const control_frame& f);
  void on_answer(const command_reply& r, uint64_t number);
  void on_report(const group_report& r, uint64_t number);
  void on_time(wake_atom, uint64_t number);
  void begin(const command& c, requester who);
  void to_deployer(const command& c, uint64_t number);
  void give_order(const command& c, uint64_t number, bool from_console);
  void answer(uint64_t number, bool ok, std::string body);
  void query(uint64_t number);
  open* find(uint64_t number);
  address me() const;
  nlohmann::json status_of(const group_report& r) const;
  nlohmann::json actors_of(const group_report& r) const;
  std::string no_such_actor(const std::string& actor, const group_report& r) const;

  handle::pointer self_;
  facts facts_;
  std::vector<open> open_;
  uint64_t last_;  ///< command number; starts at the incarnation: unique across processes
  uint64_t answered_ = 0, refused_ = 0;
};

}  // namespace troupe
