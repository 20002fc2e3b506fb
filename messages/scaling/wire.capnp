# Wire form of messages/scaling (rules: messages/wire/wire.hpp).
@0xd0a7c35be1f24896;
using Cxx = import "/capnp/c++.capnp";
using import "../llm/wire.capnp".InstancePhase;
using import "../llm/wire.capnp".InstanceStage;
$Cxx.namespace("troupe::schema");

struct ImageState {
  model @0 :UInt32; chunks @1 :UInt32; ready @2 :UInt32; filling @3 :Bool; from @4 :UInt32; bytes @5 :UInt64;
  pulled @6 :UInt64; repeated @7 :UInt64; problem @8 :Text; onDisk @9 :UInt64;
}
struct PeerRate { from @0 :UInt32; gbitPerS @1 :Float64; }
struct ShardInventory {
  node @0 :UInt32; capacity @1 :UInt64; images @2 :List(ImageState); term @3 :UInt64; rates @4 :List(PeerRate);
  diskGbitPerS @5 :Float64;
}
struct PlaceCopy { term @0 :UInt64; model @1 :UInt32; from @2 :UInt32; bytes @3 :UInt64; }
struct DropCopy { term @0 :UInt64; model @1 :UInt32; }
struct SetStage { term @0 :UInt64; engine @1 :UInt32; to @2 :InstanceStage; }
struct SetPhase { term @0 :UInt64; engine @1 :UInt32; to @2 :InstancePhase; }
struct FollowChunks { model @0 :UInt32; follow @1 :UInt64; first @2 :UInt32; }
struct UnfollowChunks { model @0 :UInt32; follow @1 :UInt64; }
struct ChunksReady {
  model @0 :UInt32; follow @1 :UInt64; gone @2 :Bool; offset @3 :UInt64; first @4 :UInt32; hashes @5 :List(UInt64);
}
struct WantInstance { model @0 :UInt32; }
