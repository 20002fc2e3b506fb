// API keys as gateways know them: only by their SHA-256, so that neither memory dumps nor logs disclose one.
#pragma once
#include <optional>
#include <string_view>

#include "messages/cluster/cluster.hpp"

namespace troupe {

key_digest digest_of(std::string_view key);

/// In a time that does not depend on where they differ.
bool same_key(const key_digest& a, const key_digest& b);

/// 64 hex digits, as `sha256sum` prints them; nothing if they are not that.
std::optional<key_digest> parse_digest(std::string_view hex);

}  // namespace troupe
