// A response as it goes over the wire.
#pragma once
#include <string>

#include "transport/http_message.hpp"
#include "transport/http_request_reader.hpp"

namespace troupe {

/// Head and body of the answer to `to`, compressed as the client likes it if that is worth while. `keep`: the
/// connection stays open.
std::string http_response_text(http_response response, const http_received& to, bool keep);

}  // namespace troupe
