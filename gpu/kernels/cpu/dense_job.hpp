// A thread's part of a dense call: some rows times some panels. Internal to the kernels.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/common/aligned_bytes.hpp"
#include "gpu/kernels/dense.hpp"

namespace troupe::kernels {

inline constexpr size_t dense_max_rows = 128;

struct dense_job {
  const dense_args* args = nullptr;
  const float* x = nullptr;        ///< [rows, in] of all rows, packed by tile (pack_inputs)
  size_t first_row = 0, rows = 0;  ///< at most dense_max_rows
  size_t first_panel = 0, panels = 0;
};

/// Memory of this thread for the packed inputs of a call, which its later calls reuse.
inline std::byte* room_for_inputs(size_t bytes) {
  thread_local aligned_bytes room;
  if (room.size() < bytes) room = {}, room = aligned_bytes(bytes);
  return room.data();
}

}  // namespace troupe::kernels
