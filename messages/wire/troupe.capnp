# Wire form of messages/*.hpp. A struct here has the name of its C++ struct in PascalCase and the same fields in
# camelCase, in any order; messages/wire/codec.hpp refuses to start otherwise. Default values are zero or empty.
# Times are nanoseconds of the sender's clock, durations nanoseconds; ids are what messages/common/ids.hpp says.
@0xb6c1b2e9a7d40f35;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::schema");

enum MemoryKind { host @0; pinned @1; device @2; }
enum DropReason { none @0; late @1; shed @2; queueFull @3; cancelled @4; noCapacity @5; draining @6; undeployed @7; quota @8; }
enum Failure {
  none @0; timeout @1; workerLost @2; schedulerLost @3; staleMemory @4; deviceError @5; nodeFenced @6; poison @7;
  adapterUnusable @8;
}
enum Refusal { none @0; late @1; oldTerm @2; busy @3; unknownModel @4; noMemory @5; preempted @6; }
enum DataType {
  bool @0; uint8 @1; uint16 @2; uint32 @3; uint64 @4; int8 @5; int16 @6; int32 @7; int64 @8;
  fp16 @9; bf16 @10; fp32 @11; fp64 @12; bytes @13;
}
enum ProfileOrigin { given @0; file @1; measured @2; }
enum DeploymentState { deployed @0; retiring @1; undeployed @2; }
enum FinishReason { none @0; stop @1; length @2; }
enum RouteReason { placed @0; preempted @1; drained @2; consolidated @3; asked @4; }
enum AdapterAnswer { done @0; exists @1; unknown @2; refused @3; }
enum RejectionReason { none @0; otherFile @1; otherVersion @2; fenced @3; }

struct Address { node @0 :UInt32; incarnation @1 :UInt64; kind @2 :UInt16; index @3 :UInt32; }
struct RegionRef {
  node @0 :UInt32; owner @1 :UInt64; kind @2 :MemoryKind; offset @3 :UInt64; size @4 :UInt64; generation @5 :UInt64;
}

struct Request {
  id @0 :UInt64; attempt @1 :UInt32; model @2 :UInt32; rows @3 :UInt32; tenant @4 :UInt32;
  gateway @5 :Address; arrival @6 :Int64; deadline @7 :Int64; input @8 :RegionRef;
}
struct Submit { requests @0 :List(Request); }
struct Cancel { id @0 :UInt64; }
struct DroppedRequest { id @0 :UInt64; attempt @1 :UInt32; reason @2 :DropReason; }
struct Drops { requests @0 :List(DroppedRequest); }
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

struct Ping { sentAt @0 :Int64; synchronised @1 :Bool; }
struct Pong { pingSentAt @0 :Int64; receivedAt @1 :Int64; sentAt @2 :Int64; synchronised @3 :Bool; }

struct Hello {
  node @0 :UInt32; incarnation @1 :UInt64; clusterHash @2 :Text; version @3 :Text; dataAddress @4 :Data;
  secret @5 :UInt64; leader @6 :Leadership;
}
struct Leadership { term @0 :UInt64; scheduler @1 :UInt32; incarnation @2 :UInt64; }
struct Rejection {
  node @0 :UInt32; incarnation @1 :UInt64; reason @2 :RejectionReason; detail @3 :Text; known @4 :UInt64;
}
struct TensorSpec { name @0 :Text; type @1 :DataType; shape @2 :List(Int64); }
struct ModelSignature { inputs @0 :List(TensorSpec); outputs @1 :List(TensorSpec); }
struct ModelReady {
  model @0 :UInt32; alpha @1 :Int64; beta @2 :Int64; maxBatch @3 :UInt32;
  signature @4 :ModelSignature;
}
struct SlotReady { slot @0 :UInt32; worker @1 :Address; models @2 :List(ModelReady); }
struct LeaveNotice { node @0 :UInt32; incarnation @1 :UInt64; }
struct Command { token @0 :UInt64; verb @1 :Text; argument @2 :Text; }
struct CommandReply { token @0 :UInt64; ok @1 :Bool; body @2 :Text; }

struct LatencyModel { alpha @0 :Int64; beta @1 :Int64; }
struct ModelSpec {
  name @0 :Text; path @1 :Text; slo @2 :Int64; origin @3 :ProfileOrigin; latency @4 :LatencyModel;
  maxBatch @5 :UInt32; inputBytes @6 :UInt32; outputBytes @7 :UInt32; weight @8 :Float64;
  domain @9 :UInt32; memoryBytes @10 :UInt64; batchBytes @11 :UInt64;
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
struct LeaveAck { node @0 :UInt32; incarnation @1 :UInt64; }
struct PluginMessage { type @0 :UInt32; body @1 :Data; }

struct TokenBias { which @0 :Int32; bias @1 :Float32; }
struct SamplingParams {
  temperature @0 :Float32; topK @1 :UInt32; topP @2 :Float32; minP @3 :Float32; repetitionPenalty @4 :Float32;
  presencePenalty @5 :Float32; frequencyPenalty @6 :Float32; seed @7 :UInt64; biases @8 :List(TokenBias);
}
struct SequenceProgress { choice @0 :UInt32; tokens @1 :List(Int32); }
struct Generation {
  id @0 :UInt64; model @1 :UInt32; tenant @2 :UInt32; gateway @3 :Address; arrival @4 :Int64; deadline @5 :Int64;
  adapter @6 :Text; prompt @7 :List(Int32); maxTokens @8 :UInt32; choices @9 :UInt32; sampling @10 :SamplingParams;
  stop @11 :List(Int32); logprobs @12 :Bool; topLogprobs @13 :UInt32; attempt @14 :UInt32; priority @15 :Int32;
  due @16 :Int64; progress @17 :List(SequenceProgress); tpot @18 :Int64;
}
struct Generate { requests @0 :List(Generation); }
struct EndChoice { id @0 :UInt64; choice @1 :UInt32; }
struct TokenChance { which @0 :Int32; logprob @1 :Float32; }
struct GeneratedToken {
  id @0 :UInt64; choice @1 :UInt32; which @2 :Int32; logprob @3 :Float32; top @4 :List(TokenChance);
  finish @5 :FinishReason; attempt @6 :UInt32;
}
struct Generated { tokens @0 :List(GeneratedToken); }
struct StepForecast { fixed @0 :Int64; decode @1 :Int64; prefill @2 :Int64; }
struct EngineStatus {
  model @0 :UInt32; ready @1 :Bool; problem @2 :Text; vocabulary @3 :UInt32; maxPositions @4 :UInt32;
  kvTokens @5 :UInt32; running @6 :UInt32; waiting @7 :UInt32; kvUsed @8 :Float32; adapterSlots @9 :UInt32;
  runningAdapters @10 :List(Text); waitingAdapters @11 :List(Text); engine @12 :UInt32; blockTokens @13 :UInt32;
  maxSequences @14 :UInt32; uncomputedTokens @15 :UInt64; steps @16 :StepForecast;
}
struct AdapterEntry { name @0 :Text; path @1 :Text; }
struct AdaptersKnown { model @0 :UInt32; all @1 :Bool; present @2 :List(AdapterEntry); gone @3 :List(Text); engine @4 :UInt32; }
struct ChangeAdapter { token @0 :UInt64; model @1 :UInt32; load @2 :Bool; adapter @3 :AdapterEntry; }
struct AdapterChanged { token @0 :UInt64; answer @1 :AdapterAnswer; message @2 :Text; }

struct RoutedRequest {
  id @0 :UInt64; version @1 :UInt32; adapter @2 :Text; sequences @3 :UInt32; tokens @4 :UInt64; arrival @5 :Int64;
  priority @6 :Int32; due @7 :Int64; at @8 :UInt32; started @9 :Bool; tpot @10 :Int64;
}
struct Route { model @0 :UInt32; all @1 :Bool; requests @2 :List(RoutedRequest); }
struct RouteEnds { model @0 :UInt32; requests @1 :List(UInt64); }
struct Placement { id @0 :UInt64; version @1 :UInt32; to @2 :UInt32; why @3 :RouteReason; }
struct Placements { model @0 :UInt32; requests @1 :List(Placement); }
struct SequencesPreempted { model @0 :UInt32; engine @1 :UInt32; requests @2 :List(UInt64); }
