# Wire form of messages/llm (rules: messages/wire/wire.hpp).
@0xb611b1f07bfab3a0;
using Cxx = import "/capnp/c++.capnp";
using import "../common/wire.capnp".Address;
using import "../common/wire.capnp".RegionRef;
$Cxx.namespace("troupe::schema");

enum FinishReason { none @0; stop @1; length @2; }
enum RouteReason { placed @0; preempted @1; drained @2; consolidated @3; asked @4; }
enum InstanceStage { idle @0; loading @1; serving @2; draining @3; parked @4; }
enum InstancePhase { both @0; prefill @1; decode @2; }
enum AdapterAnswer { done @0; exists @1; unknown @2; refused @3; }

struct TokenBias { which @0 :Int32; bias @1 :Float32; }
struct SamplingParams {
  temperature @0 :Float32; topK @1 :UInt32; topP @2 :Float32; minP @3 :Float32; repetitionPenalty @4 :Float32;
  presencePenalty @5 :Float32; frequencyPenalty @6 :Float32; seed @7 :UInt64; biases @8 :List(TokenBias);
}
struct SequenceProgress { choice @0 :UInt32; tokens @1 :List(Int32); }
struct KvPart { choice @0 :UInt32; positions @1 :UInt32; blocks @2 :List(UInt32); }
struct KvOffer {
  lease @0 :RegionRef; engine @1 :UInt32; firstBlock @2 :UInt64; blockBytes @3 :UInt64; blockTokens @4 :UInt32;
  parts @5 :List(KvPart);
}
struct Generation {
  id @0 :UInt64; model @1 :UInt32; tenant @2 :UInt32; gateway @3 :Address; arrival @4 :Int64; deadline @5 :Int64;
  adapter @6 :Text; prompt @7 :List(Int32); maxTokens @8 :UInt32; choices @9 :UInt32; sampling @10 :SamplingParams;
  stop @11 :List(Int32); logprobs @12 :Bool; topLogprobs @13 :UInt32; attempt @14 :UInt32; priority @15 :Int32;
  due @16 :Int64; progress @17 :List(SequenceProgress); tpot @18 :Int64; cacheScope @19 :Text;
  kv @20 :KvOffer; prefillOnly @21 :Bool;
}
struct Generate { requests @0 :List(Generation); }
struct EndChoice { id @0 :UInt64; choice @1 :UInt32; }
struct TokenChance { which @0 :Int32; logprob @1 :Float32; }
struct GeneratedToken {
  id @0 :UInt64; choice @1 :UInt32; which @2 :Int32; logprob @3 :Float32; top @4 :List(TokenChance);
  finish @5 :FinishReason; attempt @6 :UInt32; cached @7 :UInt32;
}
struct Generated { tokens @0 :List(GeneratedToken); }
struct StepForecast { fixed @0 :Int64; decode @1 :Int64; prefill @2 :Int64; }
struct DeviceAdapters { names @0 :List(Text); loads @1 :List(UInt64); loadSeconds @2 :Float64; }
struct EngineStatus {
  model @0 :UInt32; ready @1 :Bool; problem @2 :Text; vocabulary @3 :UInt32; maxPositions @4 :UInt32;
  kvTokens @5 :UInt32; running @6 :UInt32; waiting @7 :UInt32; kvUsed @8 :Float32; adapterSlots @9 :UInt32;
  runningAdapters @10 :List(Text); waitingAdapters @11 :List(Text); engine @12 :UInt32; blockTokens @13 :UInt32;
  maxSequences @14 :UInt32; uncomputedTokens @15 :UInt64; steps @16 :StepForecast; onDevice @17 :DeviceAdapters;
  stage @18 :InstanceStage; prefixCache @19 :Bool; phase @20 :InstancePhase;
}
struct AdapterEntry { name @0 :Text; path @1 :Text; }
struct AdaptersKnown { model @0 :UInt32; all @1 :Bool; present @2 :List(AdapterEntry); gone @3 :List(Text); engine @4 :UInt32; }
struct ChangeAdapter { token @0 :UInt64; model @1 :UInt32; load @2 :Bool; adapter @3 :AdapterEntry; }
struct AdapterChanged { token @0 :UInt64; answer @1 :AdapterAnswer; message @2 :Text; }
struct RoutedRequest {
  id @0 :UInt64; version @1 :UInt32; adapter @2 :Text; sequences @3 :UInt32; tokens @4 :UInt64; arrival @5 :Int64;
  priority @6 :Int32; due @7 :Int64; at @8 :UInt32; started @9 :Bool; tpot @10 :Int64;
  prefix @11 :List(UInt64); decodeAt @12 :UInt32;
}
struct Route { model @0 :UInt32; all @1 :Bool; requests @2 :List(RoutedRequest); }
struct RouteEnds { model @0 :UInt32; requests @1 :List(UInt64); }
struct Placement { id @0 :UInt64; version @1 :UInt32; to @2 :UInt32; why @3 :RouteReason; decodeAt @4 :UInt32; }
struct Placements { model @0 :UInt32; requests @1 :List(Placement); }
struct CachedBlocks {
  model @0 :UInt32; engine @1 :UInt32; number @2 :UInt64; all @3 :Bool; present @4 :List(UInt64); gone @5 :List(UInt64);
}
struct WantCachedBlocks { model @0 :UInt32; }
struct SequencesPreempted { model @0 :UInt32; engine @1 :UInt32; requests @2 :List(UInt64); }
struct MeasuredLoad {
  model @0 :UInt32; arrivingPerS @1 :Float64; waitingTokens @2 :UInt64; uncomputedTokens @3 :UInt64; kvTokens @4 :UInt64;
  waiting @5 :UInt32; running @6 :UInt32; maxSequences @7 :UInt32; maxKvTokens @8 :UInt32; steps @9 :StepForecast;
  decodeFull @10 :Bool;
}
struct HandOver { id @0 :UInt64; attempt @1 :UInt32; }
struct HandedOver { id @0 :UInt64; attempt @1 :UInt32; kv @2 :KvOffer; }
struct ReleaseKv { engine @0 :UInt32; lease @1 :RegionRef; }
