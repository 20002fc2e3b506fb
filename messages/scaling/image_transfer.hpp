// Protocol of weights that move (BlitzScale §4). The parameter pool, on the leader, knows from inventories
// which node has which images, and orders copies. The shard of a node holds its images and announces their
// chunks to the chain links of other nodes, which pull them and become sources themselves.
//
// Orders carry the leader's term, and orders of an earlier one are ignored from the moment at which a node
// has heard of the leader. So that none of these is still on its way, a leader plans with inventories of its
// own term only. All orders may be repeated. Nothing is pushed: a node that dies or is suspended at any point
// leaves its peers with what they have pulled.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/message.hpp"
#include "messages/llm/instance_phase.hpp"
#include "messages/llm/instance_stage.hpp"

namespace troupe {

/// The images of a model in a node's memory. A tensor model's are listed from the moment at which its node is
/// to load it, without chunks until they have memory, until it is undeployed there.
struct image_state {
  weights_id model;
  uint32_t chunks = 0;
  uint32_t ready = 0;        ///< chunks [0, n) are there
  bool filling = false;      ///< the others arrive; false and incomplete: they wait for an order
  node_id from;              ///< filling: from this node; the node itself: it reads its disk
  uint64_t bytes = 0;        ///< of all chunks
  uint64_t pulled = 0;       ///< bytes that came from peers
  uint64_t repeated = 0;     ///< bytes asked for again, after a pull that failed
  std::string problem = {};  ///< why they cannot be completed here
  uint64_t on_disk = 0;  ///< of a tensor model: bytes by its files on the node's disk; 0: they are not there
  TROUPE_MESSAGE(image_state, model, chunks, ready, filling, from, bytes, pulled, repeated, problem, on_disk)
  bool complete() const { return chunks > 0 && ready == chunks; }
  bool is_arriving() const { return filling && !complete() && problem.empty(); }
  bool operator==(const image_state&) const = default;
};

/// The measured rate of one flow of chunks from a peer.
struct peer_rate {
  node_id from;
  double gbit_per_s = 0;
  TROUPE_MESSAGE(peer_rate, from, gbit_per_s)
  bool operator==(const peer_rate&) const = default;
};

/// parameter_shard → parameter_pool: all images of its node, and the rates at which weights came to it. Sent
/// when a node comes up and after changes, at most every 50 ms.
struct shard_inventory {
  node_id node;
  uint64_t capacity = 0;  ///< bytes for images
  std::vector<image_state> images;
  term_id term = {};                  ///< it obeys no order of an earlier one any more
  std::vector<peer_rate> rates = {};  ///< measured by this process, the latest of each peer, by node
  double disk_gbit_per_s = 0;         ///< of weights that it has read; 0: too few to say
  TROUPE_MESSAGE(shard_inventory, node, capacity, images, term, rates, disk_gbit_per_s)
  bool operator==(const shard_inventory&) const = default;
};

/// parameter_pool → parameter_shard: get the images of a model, or what is missing of them.
struct place_copy {
  term_id term;
  weights_id model;
  node_id from;        ///< a node that has them, or gets them itself; this node: read the disk
  uint64_t bytes = 0;  ///< of a tensor model: what the node has that they come from in the end
  TROUPE_MESSAGE(place_copy, term, model, from, bytes)
  bool operator==(const place_copy&) const = default;
};

/// parameter_pool → parameter_shard: the images are not needed here any more. Engines keep those they use.
struct drop_copy {
  term_id term;
  weights_id model;
  TROUPE_MESSAGE(drop_copy, term, model)
  bool operator==(const drop_copy&) const = default;
};

/// parameter_pool → llm_engine: go to this stage: `serving`, `parked` (over draining) or `idle` (likewise).
struct set_stage {
  term_id term;
  engine_id engine;
  instance_stage to = instance_stage::serving;
  TROUPE_MESSAGE(set_stage, term, engine, to)
  bool operator==(const set_stage&) const = default;
};

/// parameter_pool → llm_engine: take this part in requests from now on. Those that it has go on as they
/// began.
struct set_phase {
  term_id term;
  engine_id engine;
  instance_phase to = instance_phase::both;
  TROUPE_MESSAGE(set_phase, term, engine, to)
  bool operator==(const set_phase&) const = default;
};

/// chain_link → parameter_shard of the node that it pulls from: announce the chunks from `first` on, those
/// that are there now and each later one, until another follow of the same node and model.
struct follow_chunks {
  weights_id model;
  uint64_t follow = 0;  ///< given back in announcements
  uint32_t first = 0;
  TROUPE_MESSAGE(follow_chunks, model, follow, first)
  bool operator==(const follow_chunks&) const = default;
};

/// chain_link → parameter_shard: the follow has ended, and no pull of it is under way. The shard keeps the
/// images in memory until then.
struct unfollow_chunks {
  weights_id model;
  uint64_t follow = 0;
  TROUPE_MESSAGE(unfollow_chunks, model, follow)
  bool operator==(const unfollow_chunks&) const = default;
};

/// parameter_shard → chain_link: chunks that may be pulled.
struct chunks_ready {
  weights_id model;
  uint64_t follow = 0;
  bool gone = false;             ///< this node has no such images, or gives them up
  uint64_t offset = 0;           ///< of the images in the node's memory for pulls
  uint32_t first = 0;            ///< chunk of the first hash
  std::vector<uint64_t> hashes;  ///< XXH3, by chunk
  TROUPE_MESSAGE(chunks_ready, model, follow, gone, offset, first, hashes)
  bool operator==(const chunks_ready&) const = default;
};

/// llm_router → parameter_pool: requests wait, and the model has no instance.
struct want_instance {
  llm_id model;
  TROUPE_MESSAGE(want_instance, model)
  bool operator==(const want_instance&) const = default;
};

}  // namespace troupe
