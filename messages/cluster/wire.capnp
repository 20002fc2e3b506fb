# Wire form of messages/cluster (rules: messages/wire/wire.hpp).
@0xe83b65414f32b23c;
using Cxx = import "/capnp/c++.capnp";
using import "../common/wire.capnp".Address;
using import "../tensor/wire.capnp".ModelEngine;
using import "../tensor/wire.capnp".ModelSignature;
$Cxx.namespace("troupe::schema");

enum RejectionReason { none @0; otherFile @1; otherVersion @2; fenced @3; otherEngine @4; }

struct Leadership { term @0 :UInt64; scheduler @1 :UInt32; incarnation @2 :UInt64; }
struct EngineDecision { model @0 :UInt32; engine @1 :ModelEngine; }
struct Hello {
  node @0 :UInt32; incarnation @1 :UInt64; clusterHash @2 :Text; version @3 :Text; dataAddress @4 :Data;
  secret @5 :UInt64; leader @6 :Leadership; schedulerUp @7 :Bool; engines @8 :List(EngineDecision);
}
struct Rejection {
  node @0 :UInt32; incarnation @1 :UInt64; reason @2 :RejectionReason; detail @3 :Text; known @4 :UInt64;
}
struct Ping { sentAt @0 :Int64; synchronised @1 :Bool; }
struct Pong { pingSentAt @0 :Int64; receivedAt @1 :Int64; sentAt @2 :Int64; synchronised @3 :Bool; }
struct ModelReady {
  model @0 :UInt32; alpha @1 :Int64; beta @2 :Int64; maxBatch @3 :UInt32;
  signature @4 :ModelSignature;
}
struct SlotReady { slot @0 :UInt32; worker @1 :Address; models @2 :List(ModelReady); }
struct LeaveNotice { node @0 :UInt32; incarnation @1 :UInt64; }
struct LeaveAck { node @0 :UInt32; incarnation @1 :UInt64; }
struct Command { token @0 :UInt64; verb @1 :Text; argument @2 :Text; }
struct CommandReply { token @0 :UInt64; ok @1 :Bool; body @2 :Text; }
