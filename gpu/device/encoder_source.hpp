// The encoder that a source names, and the length of its texts.
#pragma once
#include <cstdint>

#include "gpu/checkpoint/encoder_config.hpp"
#include "gpu/device/device.hpp"

namespace troupe {

struct encoder_source {
  encoder_config config;
  uint32_t tokens = 0;  ///< of a text, by the shape of `input_ids`
};

/// Requires: the path is an encoder's folder (gpu/checkpoint/encoder_folder.hpp). Throws model_error, which
/// names the folder and the fix.
encoder_source read_encoder_source(const model_source& source);

}  // namespace troupe
