// JSON documents as text. Invalid UTF-8 in strings is replaced.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace troupe {

/// Bytes that are not UTF-8 become U+FFFD; dump() alone would throw. Names in an ONNX file, paths and
/// messages of devices need not be UTF-8. `indent` -1: on one line.
template <class Json>
std::string json_text(const Json& document, int indent = -1) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace troupe
