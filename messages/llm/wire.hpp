// Messages of this subject that cross between nodes (rules: messages/wire/wire.hpp).
#pragma once
#include "messages/llm/generation.hpp"
#include "messages/llm/handover.hpp"
#include "messages/llm/measured_load.hpp"
#include "messages/llm/routing.hpp"
#include "messages/llm/sampling.hpp"

#define TROUPE_LLM_MESSAGES(MESSAGE)                   \
  MESSAGE(29, generate, Generate)                      \
  MESSAGE(30, end_choice, EndChoice)                   \
  MESSAGE(31, generated, Generated)                    \
  MESSAGE(32, engine_status, EngineStatus)             \
  MESSAGE(33, adapters_known, AdaptersKnown)           \
  MESSAGE(34, change_adapter, ChangeAdapter)           \
  MESSAGE(35, adapter_changed, AdapterChanged)         \
  MESSAGE(36, route, Route)                            \
  MESSAGE(37, route_ends, RouteEnds)                   \
  MESSAGE(38, placements, Placements)                  \
  MESSAGE(39, sequences_preempted, SequencesPreempted) \
  MESSAGE(49, measured_load, MeasuredLoad)             \
  MESSAGE(50, cached_blocks, CachedBlocks)             \
  MESSAGE(51, want_cached_blocks, WantCachedBlocks)    \
  MESSAGE(52, hand_over, HandOver)                     \
  MESSAGE(53, handed_over, HandedOver)                 \
  MESSAGE(54, release_kv, ReleaseKv)

#define TROUPE_LLM_PARTS(PART)               \
  PART(llm::token_bias, TokenBias)           \
  PART(llm::sampling_params, SamplingParams) \
  PART(kv_part, KvPart)                      \
  PART(kv_offer, KvOffer)                    \
  PART(generation, Generation)               \
  PART(token_chance, TokenChance)            \
  PART(generated_token, GeneratedToken)      \
  PART(adapter_entry, AdapterEntry)          \
  PART(device_adapters, DeviceAdapters)      \
  PART(step_forecast, StepForecast)          \
  PART(sequence_progress, SequenceProgress)  \
  PART(routed_request, RoutedRequest)        \
  PART(placement, Placement)

#define TROUPE_LLM_ENUMS(ENUM) \
  ENUM(finish_reason)          \
  ENUM(adapter_answer)         \
  ENUM(instance_phase)         \
  ENUM(instance_stage)         \
  ENUM(route_reason)
