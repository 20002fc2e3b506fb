#include "tools/client/http_key.hpp"

#include <algorithm>
#include <cstdlib>

#include "config/text_file.hpp"

namespace troupe {

http_headers with_api_key(http_headers headers, const std::string& file) {
  std::string key;
  if (file.empty()) {
    const char* given = std::getenv("TROUPE_API_KEY");
    key = given ? given : "";
  } else {
    auto text = read_text_file(file);
    if (!text.error.empty()) throw api_key_error(file + " " + text.error);
    key = std::move(text.content);
    key.erase(key.find_last_not_of(" \t\r\n") + 1);
    if (key.empty()) throw api_key_error(file + " holds no key");
  }
  if (key.empty()) return headers;
  if (std::ranges::any_of(key, [](char c) { return c < ' ' || c > '~'; }))
    throw api_key_error((file.empty() ? "TROUPE_API_KEY" : file) +
                        " holds no key: it must be one line of printable characters");
  headers.add("Authorization", "Bearer " + key);
  return headers;
}

}  // namespace troupe
