// Opening of models of the native engine: an ONNX file, or the folder of an encoder.
#pragma once
#include <memory>

#include "gpu/device/device.hpp"

namespace troupe {

namespace onnx {
class model;
}

/// The model of a source's path. Its dynamic dimensions, beside that of the batch, are those of the source's
/// shapes. For an encoder (gpu/encoder) the shape of `input_ids` says how many tokens its texts have.
/// It shares the memory of layers that are equal in `other`, if given. Throws model_error, which names the
/// file and the fix.
std::shared_ptr<const onnx::model> open_native(const model_source& source,
                                               const onnx::model* other = nullptr);

}  // namespace troupe
