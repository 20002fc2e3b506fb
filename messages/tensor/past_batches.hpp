// Command for the recent batches of a worker. Part of messages/tensor/commands.hpp.
#pragma once
#include <cstdint>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/message.hpp"
#include "messages/common/time.hpp"

namespace troupe {

struct list_batches {
  static constexpr const char* about = "the last batches that ran, oldest first";
  uint64_t after = 0;  ///< only batches with a higher number
  uint32_t limit = 512;
  TROUPE_MESSAGE(list_batches, after, limit)
};
struct past_batch {
  uint64_t number = 0;  ///< serial number on this worker, from 1
  model_id model;
  uint32_t requests = 0;
  uint32_t rows = 0;  ///< whose inputs arrived
  duration ended_ago{};
  duration took{};
  bool stopped = false;  ///< another batch preempted it
  TROUPE_MESSAGE(past_batch, number, model, requests, rows, ended_ago, took, stopped)
};
struct past_batches {
  std::vector<past_batch> batches;  ///< the newest `limit` of the last 512
  TROUPE_MESSAGE(past_batches, batches)
};

}  // namespace troupe
