// The choice of an engine for a model on CPUs. Sources with the engine `automatic` take the native engine if
// it runs the file: all operators are supported, and all dimensions but the batch are static. Others, and
// those that take any shape, go to OpenVINO. The file and `max_batch` decide, so nodes with the same build
// choose the same. Encoders with safetensors run on the native engine, those with an ONNX file as other
// files.
#pragma once
#include "gpu/device/batch_model.hpp"
#include "gpu/device/cpu_device.hpp"

namespace troupe {

/// Native or openvino, for a source with the engine `automatic`, by the file alone: whether this node has
/// OpenVINO does not count. Reads the file and plans. Throws unreadable_model.
model_engine decide_engine(const model_source& source);

/// Native or openvino: as the source says, as `decided_engine` says, or by the file. Reads the file, plans
/// the batches that a CPU warms, and runs nothing. A decided engine is not doubted: the model is planned when
/// it is loaded. Throws model_error if no engine that the source allows runs the file, with the reasons of
/// both for `automatic`.
model_engine choose_engine(const model_source& source);

/// Maker of models on the CPU, each by its chosen engine.
model_maker on_chosen_engine(cpu_options options = {});

/// By the chosen engine, which reads the file only. Throws as `choose_engine`.
model_signature signature_of(const model_source& source);

}  // namespace troupe
