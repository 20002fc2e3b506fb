# Wire form of messages/deployment (rules: messages/wire/wire.hpp).
@0xefb78353979e4065;
using Cxx = import "/capnp/c++.capnp";
using import "../tensor/wire.capnp".LatencyModel;
using import "../tensor/wire.capnp".ModelEngine;
using import "../tensor/wire.capnp".InputShape;
using import "../tensor/wire.capnp".InputConstant;
using import "../tensor/wire.capnp".ImageInput;
$Cxx.namespace("troupe::schema");

enum ProfileOrigin { given @0; file @1; measured @2; }
enum DeploymentState { deployed @0; retiring @1; undeployed @2; }

struct ModelSpec {
  name @0 :Text; path @1 :Text; slo @2 :Int64; origin @3 :ProfileOrigin; latency @4 :LatencyModel;
  maxBatch @5 :UInt32; inputBytes @6 :UInt32; outputBytes @7 :UInt32; weight @8 :Float64;
  domain @9 :UInt32; memoryBytes @10 :UInt64; batchBytes @11 :UInt64;
  engine @12 :ModelEngine; bf16 @13 :Bool; batched @14 :Bool; shapes @15 :List(InputShape);
  constants @16 :List(InputConstant); images @17 :List(ImageInput);
  decidedEngine @18 :ModelEngine; anyShape @19 :Bool;
}
struct Deployment {
  revision @0 :UInt64; model @1 :UInt32; wanted @2 :DeploymentState; definition @3 :ModelSpec;
  domain @4 :UInt32; joining @5 :UInt32; leaving @6 :UInt32;
}
struct DeploymentLog { models @0 :List(Deployment); }
struct DeploymentPart { model @0 :UInt32; revision @1 :UInt64; problem @2 :Text; }
struct DeploymentReport { parts @0 :List(DeploymentPart); }
struct Deploy { token @0 :UInt64; definition @1 :Text; wait @2 :Int64; }
struct Redeploy { token @0 :UInt64; name @1 :Text; wait @2 :Int64; }
struct Undeploy { token @0 :UInt64; name @1 :Text; wait @2 :Int64; }
struct MoveModel { token @0 :UInt64; name @1 :Text; domain @2 :Text; wait @3 :Int64; }
struct DrainNode { token @0 :UInt64; node @1 :Text; }
struct ChangeReply {
  token @0 :UInt64; ok @1 :Bool; complete @2 :Bool; revision @3 :UInt64; detail @4 :Text;
}
