// Content codings of HTTP: gzip (RFC 1952) and deflate (RFC 1950), by zlib, with a bound on what comes out.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "transport/http/result.hpp"

namespace troupe {

enum class http_coding { identity, gzip, deflate };

std::string_view to_string(http_coding coding);

/// The coding that a Content-Encoding names; 415 if it is another one, or several.
http_result<http_coding> parse_http_coding(std::string_view content_encoding);

/// What an Accept-Encoding likes best of what there is here; equally liked: gzip.
http_coding preferred_coding(std::string_view accept_encoding);

/// The inflated bytes. 413 if they are more than `max_bytes`, 400 if they are not in the coding, 503 if
/// `may_take(n)`, asked before the result grows to n bytes, says no.
http_result<std::string> inflated(std::string_view bytes, http_coding coding, uint64_t max_bytes,
                                  const std::function<bool(uint64_t)>& may_take);

/// The bytes in the coding, compressed fast rather than small.
std::string deflated(std::string_view bytes, http_coding coding);

}  // namespace troupe
