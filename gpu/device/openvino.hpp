// Opens the component libtroupe_openvino.so (gpu/device/openvino_component.hpp) when a model needs it.
#pragma once
#include "gpu/device/batch_model.hpp"

namespace troupe {

/// Both load the component on first use; it stays loaded. Thread-safe. They throw model_error with the fix if
/// it is not beside the program (in its folder, the folder above, or lib/troupe), or does not fit to it.

/// The component is beside the program; whether it fits is not looked at.
bool openvino_is_installed();
/// Reads the graph only.
model_signature openvino_signature(const model_source& source);
/// Maker of models that OpenVINO runs on the CPU, with this many threads an inference.
model_maker on_openvino(int threads = 1);

}  // namespace troupe
