// JSON documents as text, whatever bytes are in their strings.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace troupe {

/// Bytes that are not UTF-8 become U+FFFD, where dump() alone would throw: names in an ONNX file, paths and
/// what a device says about them need not be UTF-8. `indent` -1: on one line.
template <class Json>
std::string json_text(const Json& document, int indent = -1) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace troupe
