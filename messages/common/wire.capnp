# Wire form of messages/common: what messages of all subjects are made of (rules: messages/wire/wire.hpp).
@0xb6c1b2e9a7d40f35;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::schema");

enum MemoryKind { host @0; pinned @1; device @2; }

struct Address { node @0 :UInt32; incarnation @1 :UInt64; kind @2 :UInt16; index @3 :UInt32; }
struct RegionRef {
  node @0 :UInt32; owner @1 :UInt64; kind @2 :MemoryKind; offset @3 :UInt64; size @4 :UInt64; generation @5 :UInt64;
}
struct PluginMessage { type @0 :UInt32; body @1 :Data; }
