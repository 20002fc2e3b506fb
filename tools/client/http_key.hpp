// The API key that a client of a cluster shows.
#pragma once
#include <stdexcept>
#include <string>

#include "transport/http/message.hpp"

namespace troupe {

/// There is no key where one should be; `what()` says where.
class api_key_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// With the header for the key in `file`, or if that is empty in the environment's TROUPE_API_KEY; as they
/// are if there is none. Throws api_key_error.
http_headers with_api_key(http_headers headers, const std::string& file);

}  // namespace troupe
