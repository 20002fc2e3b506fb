// A config.pbtxt as protobuf reads it: the message, and the place of each field.
#pragma once
#include <google/protobuf/text_format.h>

#include <optional>
#include <string>
#include <string_view>

#include "config/problem.hpp"
#include "model_config.pb.h"

namespace troupe::triton {

using place_tree = google::protobuf::TextFormat::ParseInfoTree;

struct model_config_text {
  ::inference::ModelConfig message;
  place_tree places;
};

/// The first reason why the text is no configuration in protobuf's text format; none: `out` has it. `file`:
/// its name in messages.
std::optional<problem> parse_model_config(std::string_view text, const std::string& file,
                                          model_config_text& out);

/// Of a field's value by index; -1: the field is not repeated. Values of a list have the place of the list.
file_position place_of(const place_tree& tree, const google::protobuf::FieldDescriptor* field, int index,
                       const std::string& file);

}  // namespace troupe::triton
