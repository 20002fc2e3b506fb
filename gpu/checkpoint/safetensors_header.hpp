// Parses the JSON header of a safetensors file as a stream: as a document, 100 MB of brackets would take
// gigabytes.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::llm {

struct header_entry {
  std::string type;
  std::vector<uint64_t> shape;
  uint64_t begin = 0, end = 0;  ///< offsets behind the header; unchecked
};

/// Throws model_error with `file` before the message if the text is not JSON, has a tensor twice, or has an
/// entry without a dtype, a shape and two offsets. `__metadata__` is checked and left out.
std::map<std::string, header_entry, std::less<>> parse_safetensors_header(std::string_view json,
                                                                          const std::string& file);

}  // namespace troupe::llm
