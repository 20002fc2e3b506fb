// Authority of a URL or Host header (RFC 3986 §3.2.2).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// "HOST:PORT", an IPv6 address in brackets.
inline std::string host_port(std::string_view host, uint16_t port) {
  const bool ipv6 = host.find(':') != std::string_view::npos;
  return (ipv6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::to_string(port);
}

}  // namespace troupe
