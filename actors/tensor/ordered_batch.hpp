// A batch that a worker was ordered to run, with its inputs and outputs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "actors/runtime/memory_port.hpp"
#include "gpu/device/device.hpp"
#include "messages/tensor/scheduling.hpp"

namespace troupe {

struct ordered_batch {
  struct part {
    std::vector<std::byte> pulled;     ///< whole slot, with the check words around the payload
    std::span<const std::byte> input;  ///< within `pulled`, once verified
    offer output;
    std::unique_ptr<std::vector<std::byte>> shaped_output;  ///< of a model with free dimensions
    failure error = failure::none;
    bool arrived = true;  ///< no pull is in flight
  };
  batch_order order;
  uint64_t token = 0;       ///< of the pull of its first part; those of the other parts follow
  std::vector<part> parts;  ///< by request of the order
  size_t missing = 0;       ///< parts whose pull is in flight
  time_point received_at = never, inputs_at = never;

  /// Rows of the parts without an error.
  uint32_t rows() const;
  /// The parts without an error, for the device. Its spans point to buffers of this batch and of the pool,
  /// which must outlive the run; the batch itself may move.
  batch_work work() const;
  /// Any part is without an error.
  bool has_input() const;
};

}  // namespace troupe
