// Bodies of KServe's model repository extension, from untrusted clients: bounded before they are parsed,
// because a document takes many times the memory of its text.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "transport/http/result.hpp"

namespace troupe {

/// POST /v2/repository/models/{model}/load: empty, or {"parameters": {"config": "..."}}; 64 KiB at most.
struct repository_load {
  std::optional<std::string> config;  ///< JSON: the keys of a [[model]] table
};
http_result<repository_load> parse_repository_load(std::string_view body);

/// POST /v2/repository/index: empty, or {"ready": ...}; 4 KiB at most. True: only models that are ready.
http_result<bool> parse_repository_index(std::string_view body);

}  // namespace troupe
