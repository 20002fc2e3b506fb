// Serialisation of responses.
#pragma once
#include <string>

#include "transport/http/message.hpp"
#include "transport/http/request_reader.hpp"

namespace troupe {

/// Head and body of the answer to `to`, compressed if the client accepts it and it is worthwhile. `keep`: the
/// connection stays open.
std::string http_response_text(http_response response, const http_received& to, bool keep);

/// The head of an answer whose body follows in pieces: chunked, or for HTTP/1.0 until the connection closes.
std::string http_stream_head_text(const http_response& head, const http_received& to, bool keep);

}  // namespace troupe
