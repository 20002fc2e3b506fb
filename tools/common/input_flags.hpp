// Flags about the inputs of a model: `--shape x=1x3x320x320` and `--constant sr=16000`.
#pragma once
#include <string>

#include "messages/tensor/model_inputs.hpp"

namespace troupe {

/// "NAME=1x3x320x320"; "NAME=" is the shape of a scalar. Throws model_error that names the flag.
input_shape parse_shape_flag(const std::string& text);
/// "NAME=NUMBER". Throws model_error that names the flag.
input_constant parse_constant_flag(const std::string& text);

}  // namespace troupe
