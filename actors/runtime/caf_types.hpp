// Messages between the CAF actors of one process, frames of the control lane, and the CAF type ids of both.
#pragma once
#include <caf/actor.hpp>
#include <caf/message.hpp>
#include <caf/type_id.hpp>
#include <caf/typed_actor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/runtime/actor_group.hpp"
#include "actors/runtime/events.hpp"
#include "actors/runtime/model_loader.hpp"
#include "messages/wire/caf_types.hpp"

namespace troupe {

class actor_group;

/// To a CAF host: messages for its actors.
struct delivery {
  message_batch messages;
  std::shared_ptr<const void> place = nullptr;  ///< their share of the CAF host's backlog; null: unbounded
};

struct group_report {
  std::vector<address> actors;
  std::vector<actor_status> statuses;
  std::vector<metric> metrics;
  size_t unfinished = 0;
  std::vector<node_id> busy_with;  ///< nodes that must not leave yet
};

/// To a CAF host: call `reply`, on the CAF host's thread.
struct report_query {
  std::function<void(group_report)> reply;
};

/// To a CAF host: run the command on the actor `to` and call `reply` with the answer, on the CAF host's
/// thread. A node actor or metrics actor runs the command itself.
struct command_query {
  address to;
  command what;
  std::function<void(command_reply)> reply;
};

/// A message on the control lane. `from.incarnation` and `to.incarnation` are those that the sender knows.
struct control_frame {
  address from;
  address to;
  caf::message body;
};
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, control_frame& x) {
  return f(caf::meta::type_name("control_frame"), x.from, x.to, x.body);
}

/// To a CAF host: change the group of actors, between two turns.
struct regrouping {
  std::function<void(actor_group&, time_point now)> change;
};

/// From the node actor to the deployer: an incarnation of a peer is up, or has ended.
struct peer_change {
  node_id node;
  incarnation_id incarnation;
  bool up = false;
};
/// To the deployer: its first message, after which it begins.
struct introduction;

/// To the own control endpoint: send this frame.
struct outgoing_frame {
  control_frame frame;
};
/// To the own control endpoint: the receivers of frames and commands.
struct open_endpoint;
/// To the own control endpoint: whether a node that it wants to dial accepts connections.
struct probe_result {
  node_id node;
  bool accepts = false;
};

/// From the data lane to the node actor.
struct peer_synchronised {
  node_id node;
  incarnation_id incarnation;
};
struct peer_lost {
  node_id node;
  incarnation_id incarnation;
  std::string why;
};

}  // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_actors, caf::id_block::troupe::end)
CAF_ADD_TYPE_ID(troupe_actors, (troupe::control_frame))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::delivery))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::report_query))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::command_query))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::group_report))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::peer_synchronised))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::peer_lost))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::outgoing_frame))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::open_endpoint))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::probe_result))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::regrouping))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::peer_change))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::introduction))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::new_incarnation))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::model_idle))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::files_settled))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::load_outcome))
CAF_ADD_TYPE_ID(troupe_actors, (troupe::leadership))
CAF_ADD_ATOM(troupe_actors, troupe, drain_atom, "drain")
CAF_ADD_ATOM(troupe_actors, troupe, wake_atom, "wake")
CAF_END_TYPE_ID_BLOCK(troupe_actors)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::delivery)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::report_query)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::command_query)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::group_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::peer_synchronised)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::peer_lost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::outgoing_frame)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::open_endpoint)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::probe_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::regrouping)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::peer_change)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::introduction)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::new_incarnation)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::model_idle)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::files_settled)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::load_outcome)

namespace troupe {

/// The messages of a node actor (actors/cluster/node.hpp).
using node_protocol = caf::typed_actor<caf::reacts_to<control_frame>,   // from another node
                                       caf::reacts_to<slot_ready>,      // the models of a slot of this node
                                       caf::reacts_to<deployment_log>,  // from the deployer: changed lines
                                       caf::reacts_to<deployment_report>,  // likewise, for the scheduler
                                       caf::reacts_to<peer_synchronised>,  // from the data lane
                                       caf::reacts_to<peer_lost>,      // likewise, or from the control lane
                                       caf::reacts_to<group_report>,   // from the CAF hosts
                                       caf::reacts_to<report_query>,   // from the metrics
                                       caf::reacts_to<command_query>,  // from the console
                                       caf::reacts_to<wake_atom>,      // a timer has expired
                                       caf::reacts_to<drain_atom>>;    // finish and leave

/// The messages of a deployer (actors/cluster/deployer.hpp).
using deployer_protocol = caf::typed_actor<
    caf::reacts_to<introduction>,
    caf::reacts_to<control_frame>,                                 // from another node's deployer
    caf::reacts_to<peer_change>, caf::reacts_to<new_incarnation>,  // from the node actor
    caf::reacts_to<leadership>,                                    // likewise
    caf::reacts_to<load_outcome>,                                  // from the loader
    caf::reacts_to<model_idle>,                                    // from an actor
    caf::reacts_to<files_settled>,                                 // from the parameter shard
    caf::reacts_to<report_query>,                                  // from the metrics
    caf::reacts_to<wake_atom>, caf::replies_to<deploy>::with<change_reply>,
    caf::replies_to<redeploy>::with<change_reply>, caf::replies_to<undeploy>::with<change_reply>,
    caf::replies_to<move_model>::with<change_reply>, caf::replies_to<drain_node>::with<change_reply>>;

struct introduction {
  node_protocol node;
  incarnation_id incarnation;
};

struct open_endpoint {
  node_protocol node;
  caf::actor console;
};

}  // namespace troupe
