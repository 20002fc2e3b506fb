// Hand-over of the KV cache of a request from one engine to another (BlitzScale §4.3, without its layers):
// the next engine pulls the keys and values that the former one has, instead of computing them again.
//
//   gateway → former engine: hand_over     stop, once the steps under way are done
//   former engine → gateway: handed_over   these are the blocks; the lease lasts until `release_kv`
//   gateway → next engine: generate        with this offer; from now on the request is the next engine's
//   next engine → former engine: release_kv, or the gateway, if there is no next engine
//
// With disaggregated prefills and decodes (BlitzScale §2.1) an engine that prefills stops each request after
// its first token as if `hand_over` had come, and the gateway knows the next engine from the beginning.
//
// The gateway owns the request all the time. If an engine or a pull fails, keys and values are computed again
// from the tokens that the gateway has.
#pragma once
#include <cstdint>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/memory.hpp"

namespace troupe {

/// The keys and values of one choice.
struct kv_part {
  uint32_t choice = 0;
  uint32_t positions = 0;        ///< of its first tokens
  std::vector<uint32_t> blocks;  ///< numbers of the blocks that hold them, in order
  TROUPE_MESSAGE(kv_part, choice, positions, blocks)
  bool operator==(const kv_part&) const = default;
};

/// KV blocks of a request in the memory of an engine that has stopped it.
struct kv_offer {
  region_ref lease;          ///< vouches for the blocks (transport/memory/leased_pull.hpp); none: no offer
  engine_id engine;          ///< it holds the lease
  uint64_t first_block = 0;  ///< offset of block 0 in the registered memory of the lease's node
  uint64_t block_bytes = 0;
  uint32_t block_tokens = 0;
  std::vector<kv_part> parts;
  TROUPE_MESSAGE(kv_offer, lease, engine, first_block, block_bytes, block_tokens, parts)
  bool operator==(const kv_offer&) const = default;
};

/// llm_gateway → llm_engine: another engine will continue this request. `cancel` gives it up.
struct hand_over {
  request_id id;
  uint32_t attempt = 1;
  TROUPE_MESSAGE(hand_over, id, attempt)
  bool operator==(const hand_over&) const = default;
};

/// llm_engine → llm_gateway: it has stopped the request, after the tokens that it has sent. An engine without
/// the request answers without an offer, and one that has not begun it with the offer of the former engine.
struct handed_over {
  request_id id;
  uint32_t attempt = 1;
  kv_offer kv;
  TROUPE_MESSAGE(handed_over, id, attempt, kv)
  bool operator==(const handed_over&) const = default;
};

/// llm_engine or llm_gateway → llm_engine: the blocks of this lease are pulled, or not wanted.
struct release_kv {
  engine_id engine;  ///< that holds the lease
  region_ref lease;
  TROUPE_MESSAGE(release_kv, engine, lease)
  bool operator==(const release_kv&) const = default;
};

}  // namespace troupe
