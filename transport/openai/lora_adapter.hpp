// Bodies of POST /v1/load_lora_adapter and /v1/unload_lora_adapter, as in vLLM.
#pragma once
#include <string>
#include <string_view>

#include "transport/openai/error.hpp"

namespace troupe::openai {

struct load_adapter {
  std::string name;  ///< 1 to 256 bytes, no control characters
  std::string path;  ///< a folder on the server; 1 to 4096 bytes, no control characters
};
result<load_adapter> parse_load_adapter(std::string_view body);

/// Returns the adapter's name.
result<std::string> parse_unload_adapter(std::string_view body);

}  // namespace troupe::openai
