// Messages of this subject that cross between nodes (rules: messages/wire/wire.hpp).
#pragma once
#include "messages/tensor/image_input.hpp"
#include "messages/tensor/latency.hpp"
#include "messages/tensor/model_engine.hpp"
#include "messages/tensor/model_inputs.hpp"
#include "messages/tensor/request.hpp"
#include "messages/tensor/scheduling.hpp"
#include "messages/tensor/tensor.hpp"

#define TROUPE_TENSOR_MESSAGES(MESSAGE) \
  MESSAGE(0, submit, Submit)            \
  MESSAGE(1, cancel, Cancel)            \
  MESSAGE(2, drops, Drops)              \
  MESSAGE(3, completion, Completion)    \
  MESSAGE(4, release, Release)          \
  MESSAGE(5, candidate, Candidate)      \
  MESSAGE(6, grant, Grant)              \
  MESSAGE(7, occupied, Occupied)        \
  MESSAGE(8, batch_order, BatchOrder)   \
  MESSAGE(9, batch_done, BatchDone)     \
  MESSAGE(28, handover, Handover)       \
  MESSAGE(48, suspects, Suspects)

#define TROUPE_TENSOR_PARTS(PART)       \
  PART(request, Request)                \
  PART(dropped_request, DroppedRequest) \
  PART(result, Result)                  \
  PART(tensor_spec, TensorSpec)         \
  PART(input_shape, InputShape)         \
  PART(input_constant, InputConstant)   \
  PART(image_input, ImageInput)         \
  PART(model_signature, ModelSignature) \
  PART(batch_times, BatchTimes)         \
  PART(latency_model, LatencyModel)

#define TROUPE_TENSOR_ENUMS(ENUM) \
  ENUM(drop_reason)               \
  ENUM(failure)                   \
  ENUM(worker_loss)               \
  ENUM(refusal)                   \
  ENUM(data_type)                 \
  ENUM(model_engine)              \
  ENUM(image_filter)              \
  ENUM(image_channels)            \
  ENUM(image_layout)
