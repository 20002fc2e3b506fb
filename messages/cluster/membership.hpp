// Messages of cluster membership: handshake, heartbeats, slot reports and leaving. Also the commands from the
// tools.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/tensor/model_engine.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe {

/// The leader in a cluster with standbys. Every node passes it on; a later term replaces an earlier one,
/// never the reverse.
struct leadership {
  term_id term;                ///< carried by all orders; 0: there was no leader yet
  node_id scheduler;           ///< the leader
  incarnation_id incarnation;  ///< in that incarnation only
  bool later_than(const leadership& t) const {
    return term > t.term || (term == t.term && scheduler == t.scheduler && incarnation > t.incarnation);
  }
  TROUPE_MESSAGE(leadership, term, scheduler, incarnation)
  bool operator==(const leadership&) const = default;
};

/// The engine that a node has decided on for a model of the cluster file.
struct engine_decision {
  model_id model;
  model_engine engine = model_engine::automatic;
  TROUPE_MESSAGE(engine_decision, model, engine)
  bool operator==(const engine_decision&) const = default;
};

/// Control lane, both ways: on connecting, then every second, and when the leader changes. Its frame is
/// addressed to the incarnation of the receiver that the sender has heard of; 0: none. A node connects only
/// to peers that have heard of its present one, and answers the others.
struct hello {
  node_id node;
  incarnation_id incarnation;
  std::string cluster_hash;           ///< a node started with another file is refused
  std::string version;                ///< of the program; must be equal
  std::vector<uint8_t> data_address;  ///< for fabric::connect
  uint64_t secret = 0;                ///< of this incarnation; every data-lane frame sent to it must carry it
  leadership leader{};                ///< the latest that the sender has heard of
  bool scheduler_up = false;          ///< the sender is the scheduler, or is connected to it
  std::vector<engine_decision> engines{};  ///< must not contradict those of the receiver
  TROUPE_MESSAGE(hello, node, incarnation, cluster_hash, version, data_address, secret, leader, scheduler_up,
                 engines)
  bool operator==(const hello&) const = default;
};

enum class rejection_reason : uint16_t {
  none,
  other_file,
  other_version,
  fenced,  ///< this incarnation was declared dead: come back with a new one
  other_engine
};
inline constexpr size_t rejection_reason_count = 5;
std::string_view to_string(rejection_reason r);

/// The answer to a hello that is not accepted.
struct rejection {
  node_id node;                ///< the node that rejects
  incarnation_id incarnation;  ///< the incarnation that is rejected
  incarnation_id known;        ///< fenced: a new incarnation must be larger than this one
  rejection_reason reason = rejection_reason::none;
  std::string detail;  ///< one sentence for the log
  TROUPE_MESSAGE(rejection, node, incarnation, known, reason, detail)
  bool operator==(const rejection&) const = default;
};

/// Data lane, every heartbeat. Answered by a pong; their four times give the clock offset.
struct ping {
  int64_t sent_at = 0;        ///< of the sender's clock; a plain number, so that the lane does not convert it
  bool synchronised = false;  ///< the sender knows the receiver's clock
  TROUPE_MESSAGE(ping, sent_at, synchronised)
  bool operator==(const ping&) const = default;
};

struct pong {
  int64_t ping_sent_at = 0;  ///< as in the ping
  int64_t received_at = 0;   ///< of the answering node's clock
  int64_t sent_at = 0;       ///< likewise
  bool synchronised = false;
  TROUPE_MESSAGE(pong, ping_sent_at, received_at, sent_at, synchronised)
  bool operator==(const pong&) const = default;
};

struct model_ready {
  model_id model;
  duration alpha{};
  duration beta{};
  uint32_t max_batch = 1;
  model_signature signature;
  TROUPE_MESSAGE(model_ready, model, alpha, beta, max_batch, signature)
  bool operator==(const model_ready&) const = default;
};

/// worker node → all nodes, control lane: these models are loaded on the slot and warm. Repeated to each node
/// that comes up later.
struct slot_ready {
  slot_id slot;
  address worker;
  std::vector<model_ready> models;
  TROUPE_MESSAGE(slot_ready, slot, worker, models)
  bool operator==(const slot_ready&) const = default;
};

/// A node → all nodes, control lane: it drains and will leave; send it nothing new.
struct leave_notice {
  node_id node;
  incarnation_id incarnation;
  TROUPE_MESSAGE(leave_notice, node, incarnation)
  bool operator==(const leave_notice&) const = default;
};

/// Control lane, answers a leave_notice: the sender has no work left at the leaving node or on the way to it.
struct leave_ack {
  node_id node;
  incarnation_id incarnation;  ///< of the sender
  TROUPE_MESSAGE(leave_ack, node, incarnation)
  bool operator==(const leave_ack&) const = default;
};

/// A tool → a node's console, or a console → another node's. `verb`: "status", ...; `argument`: JSON or
/// empty.
struct command {
  uint64_t token = 0;  ///< given back in the reply
  std::string verb;
  std::string argument;
  TROUPE_MESSAGE(command, token, verb, argument)
  bool operator==(const command&) const = default;
};

struct command_reply {
  uint64_t token = 0;
  bool ok = false;
  std::string body;  ///< JSON if ok, else one sentence
  TROUPE_MESSAGE(command_reply, token, ok, body)
  bool operator==(const command_reply&) const = default;
};

}  // namespace troupe
