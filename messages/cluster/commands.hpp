// Commands to nodes and to the placer (rules: messages/common/commands.hpp).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/commands.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

// Of a node.

struct peer_state {
  std::string node;
  std::string state;  ///< unknown, connecting, up or leaving
  incarnation_id incarnation;
  duration clock_offset{};  ///< of the peer's clock from this node's, as last estimated
  duration clock_error{};   ///< its bound; negative while the clock is not known
  TROUPE_MESSAGE(peer_state, node, state, incarnation, clock_offset, clock_error)
};
struct node_state {
  std::string node;
  incarnation_id incarnation;
  bool ready = false;  ///< all nodes are up and all models served
  bool draining = false;
  time_point now{};  ///< of the node's clock
  std::vector<peer_state> peers;
  std::string scheduler;   ///< the leader, or the last one
  term_id term;            ///< its term; 0 in a cluster without standbys
  uint32_t takeovers = 0;  ///< that this process has seen
  TROUPE_MESSAGE(node_state, node, incarnation, ready, draining, now, peers, scheduler, term, takeovers)
};

using node_commands = type_list<exchange<get_state, node_state>>;

// Of a placer.

struct placer_state {
  uint64_t epochs = 0;          ///< in which it searched for a better partition
  uint64_t moves = 0;           ///< of models, begun
  uint32_t planned = 0;         ///< moves that wait for earlier ones
  std::string moving;           ///< the model that moves now; empty: none
  double rate_imbalance = 0;    ///< (max - min) / average over the domains, at the last search
  double memory_imbalance = 0;  ///< likewise
  std::string problem;          ///< why that search found no partition
  TROUPE_MESSAGE(placer_state, epochs, moves, planned, moving, rate_imbalance, memory_imbalance, problem)
};
using placer_commands = type_list<exchange<get_state, placer_state>>;

}  // namespace troupe
