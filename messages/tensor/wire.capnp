# Wire form of messages/tensor (rules: messages/wire/wire.hpp).
@0x819f63caa6ee3249;
using Cxx = import "/capnp/c++.capnp";
using import "../common/wire.capnp".Address;
using import "../common/wire.capnp".RegionRef;
$Cxx.namespace("troupe::schema");

enum DropReason { none @0; late @1; shed @2; queueFull @3; cancelled @4; noCapacity @5; draining @6; undeployed @7; quota @8; }
enum Failure {
  none @0; timeout @1; workerLost @2; schedulerLost @3; staleMemory @4; deviceError @5; poison @6;
  adapterUnusable @7;
}
enum WorkerLoss { none @0; workerLost @1; workerCrashed @2; }
enum Refusal { none @0; late @1; oldTerm @2; busy @3; unknownModel @4; noMemory @5; preempted @6; }
enum DataType {
  bool @0; uint8 @1; uint16 @2; uint32 @3; uint64 @4; int8 @5; int16 @6; int32 @7; int64 @8;
  fp16 @9; bf16 @10; fp32 @11; fp64 @12; bytes @13;
}
enum ModelEngine { auto @0; native @1; openvino @2; }
enum ImageFilter { bilinear @0; bicubic @1; nearest @2; }
enum ImageChannels { rgb @0; bgr @1; l @2; }
enum ImageLayout { nchw @0; nhwc @1; }

struct Request {
  id @0 :UInt64; attempt @1 :UInt32; model @2 :UInt32; rows @3 :UInt32; tenant @4 :UInt32;
  gateway @5 :Address; arrival @6 :Int64; deadline @7 :Int64; input @8 :RegionRef;
  lastLoss @9 :WorkerLoss; shapeClass @10 :UInt64;
}
struct Submit { requests @0 :List(Request); }
struct Cancel { id @0 :UInt64; }
struct DroppedRequest { id @0 :UInt64; attempt @1 :UInt32; reason @2 :DropReason; }
struct Drops { requests @0 :List(DroppedRequest); }
struct Suspects { loss @0 :WorkerLoss; requests @1 :List(UInt64); }
struct Result {
  id @0 :UInt64; attempt @1 :UInt32; error @2 :Failure; output @3 :RegionRef; detail @4 :Text;
}
struct BatchTimes {
  plannedAt @0 :Int64; orderedAt @1 :Int64; receivedAt @2 :Int64; inputsAt @3 :Int64; startedAt @4 :Int64;
  finishedAt @5 :Int64;
}
struct Completion { batch @0 :UInt64; batchRows @1 :UInt32; results @2 :List(Result); times @3 :BatchTimes; }
struct Release { regions @0 :List(RegionRef); }
struct Candidate {
  model @0 :UInt32; sequence @1 :UInt64; rows @2 :UInt32; execAt @3 :Int64; latest @4 :Int64; delay @5 :Int64;
  alone @6 :Bool; need @7 :Float64; slots @8 :List(UInt32);
}
struct Grant {
  model @0 :UInt32; sequence @1 :UInt64; slot @2 :UInt32; worker @3 :Address; freeAt @4 :Int64; alone @5 :Bool;
  load @6 :Float64; preempts @7 :Bool;
}
struct Occupied {
  model @0 :UInt32; sequence @1 :UInt64; slot @2 :UInt32; batch @3 :UInt64; freeAt @4 :Int64; alone @5 :Bool;
}
struct BatchOrder {
  batch @0 :UInt64; term @1 :UInt64; model @2 :UInt32; slot @3 :UInt32; queue @4 :Address;
  execAt @5 :Int64; startBy @6 :Int64; requests @7 :List(Request); orderedAt @8 :Int64;
  preempts @9 :Bool;
}
struct BatchDone {
  batch @0 :UInt64; model @1 :UInt32; slot @2 :UInt32; refused @3 :Refusal; rows @4 :UInt32;
  startedAt @5 :Int64; finishedAt @6 :Int64; stale @7 :List(UInt64);
}
struct Handover {
  slot @0 :UInt32; worker @1 :Address; term @2 :UInt64; batch @3 :UInt64; model @4 :UInt32; requests @5 :List(Request);
}
struct TensorSpec { name @0 :Text; type @1 :DataType; shape @2 :List(Int64); }
struct InputShape { name @0 :Text; dims @1 :List(Int64); }
struct InputConstant { name @0 :Text; value @1 :Float64; }
struct ImageInput {
  input @0 :Text; resize @1 :List(UInt32); crop @2 :List(UInt32); filter @3 :ImageFilter;
  channels @4 :ImageChannels; layout @5 :ImageLayout; scale @6 :Float64; mean @7 :List(Float64);
  deviation @8 :List(Float64); maxPixels @9 :UInt64;
}
struct ModelSignature { inputs @0 :List(TensorSpec); outputs @1 :List(TensorSpec); batched @2 :Bool; }
struct LatencyModel { alpha @0 :Int64; beta @1 :Int64; }
