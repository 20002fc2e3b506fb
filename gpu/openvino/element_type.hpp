// OpenVINO's element types, and those of tensors.
#pragma once
#include <openvino/core/type/element_type.hpp>
#include <optional>

#include "messages/tensor/tensor.hpp"

namespace troupe::vino {

/// Nothing: a type that no tensor of ours has (4-bit numbers, text).
std::optional<data_type> data_type_of(const ov::element::Type& type);

}  // namespace troupe::vino
