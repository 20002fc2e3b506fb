// The API key of a client of a cluster.
#pragma once
#include <stdexcept>
#include <string>

#include "transport/http/message.hpp"

namespace troupe {

/// A required key is missing; `what()` names the place.
class api_key_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Adds the header with the key from `file`, or if that is empty from the environment variable
/// TROUPE_API_KEY. Without a key, the headers are unchanged. Throws api_key_error.
http_headers with_api_key(http_headers headers, const std::string& file);

}  // namespace troupe
