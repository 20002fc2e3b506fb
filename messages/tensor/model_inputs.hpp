// What a user says of a model's inputs beyond the model's file.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/message.hpp"

namespace troupe {

/// The shape of an input: of a row, without the dimension for batches, or whole if the model has no rows.
struct input_shape {
  std::string name;
  std::vector<int64_t> dims;
  TROUPE_MESSAGE(input_shape, name, dims)
  bool operator==(const input_shape&) const = default;
};

/// An input that is fixed: no request has it. All its elements have the value.
struct input_constant {
  std::string name;
  double value = 0;
  TROUPE_MESSAGE(input_constant, name, value)
  bool operator==(const input_constant&) const = default;
};

/// By name.
template <class Said>
const Said* find_input(const std::vector<Said>& said, std::string_view name) {
  for (const auto& s : said)
    if (s.name == name) return &s;
  return nullptr;
}

}  // namespace troupe
