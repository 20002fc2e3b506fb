// Messages of this subject that cross between nodes (rules: messages/wire/wire.hpp).
#pragma once
#include "messages/scaling/image_transfer.hpp"

#define TROUPE_SCALING_MESSAGES(MESSAGE)       \
  MESSAGE(40, shard_inventory, ShardInventory) \
  MESSAGE(41, place_copy, PlaceCopy)           \
  MESSAGE(42, drop_copy, DropCopy)             \
  MESSAGE(43, set_stage, SetStage)             \
  MESSAGE(44, follow_chunks, FollowChunks)     \
  MESSAGE(45, chunks_ready, ChunksReady)       \
  MESSAGE(46, want_instance, WantInstance)     \
  MESSAGE(47, unfollow_chunks, UnfollowChunks) \
  MESSAGE(55, set_phase, SetPhase)

#define TROUPE_SCALING_PARTS(PART) PART(image_state, ImageState) PART(peer_rate, PeerRate)
