// The JSON header of a safetensors file. Read as a stream: as a document, 100 MB of brackets would be
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
  uint64_t begin = 0, end = 0;  ///< in the bytes after the header; as the file says, unchecked
};

/// Throws model_error with `file` before the message if it is no JSON, has a tensor twice, or an entry
/// without a dtype, a shape and two offsets. `__metadata__` is checked and left out.
std::map<std::string, header_entry, std::less<>> parse_safetensors_header(std::string_view json,
                                                                          const std::string& file);

}  // namespace troupe::llm
