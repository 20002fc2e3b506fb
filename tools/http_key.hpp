// The API key that a client of a cluster shows.
#pragma once
#include <optional>
#include <stdexcept>
#include <string>

#include "transport/http_message.hpp"

namespace troupe {

/// There is no key where one should be; `what()` says where.
class api_key_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The header for the key in `file`, or if that is empty in the environment's TROUPE_API_KEY; nothing if
/// there is none. Throws api_key_error.
std::optional<http_headers::field> api_key_header(const std::string& file);

}  // namespace troupe
