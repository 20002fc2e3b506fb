// Triton's classification extension: an output is returned as its largest values.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "messages/tensor/tensor.hpp"

namespace troupe::kserve {

/// The values of a BYTES tensor of shape [rows, classes]: for each row of `t` (of numbers) its largest
/// values, the largest first and of equal ones the first, as "value:index". NaN comes last.
std::string largest_values(std::span<const std::byte> values, const tensor_spec& t, uint32_t rows,
                           uint32_t classes);

}  // namespace troupe::kserve
