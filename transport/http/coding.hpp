// Content codings of HTTP: gzip (RFC 1952) and deflate (RFC 1950), by zlib, with a bound on the inflated
// size.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "transport/http/result.hpp"

namespace troupe {

enum class http_coding { identity, gzip, deflate };

std::string_view to_string(http_coding coding);

/// The coding named by a Content-Encoding; 415 if it is unknown, or a list.
http_result<http_coding> parse_http_coding(std::string_view content_encoding);

/// The supported coding that an Accept-Encoding prefers; ties: gzip.
http_coding preferred_coding(std::string_view accept_encoding);

/// The inflated bytes. Errors: 413 beyond `max_bytes`; 400 if they are not in the coding; 503 if
/// `may_take(n)`, called before the result grows to n bytes, returns false.
http_result<std::string> inflated(std::string_view bytes, http_coding coding, uint64_t max_bytes,
                                  const std::function<bool(uint64_t)>& may_take);

/// The bytes in the coding, compressed fast rather than small.
std::string deflated(std::string_view bytes, http_coding coding);

}  // namespace troupe
