#include "actors/frontend/ui_page.hpp"

#include <span>
#include <string>

#include "transport/tls/api_key.hpp"

namespace troupe {
namespace {

std::string base64(std::span<const uint8_t> bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) three = three << 8 | (i + k < bytes.size() ? bytes[i + k] : 0u);
    for (size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : digits[three >> (18 - 6 * k) & 63];
  }
  return out;
}

/// The hash of the text between <name> and </name>, as a source of a Content-Security-Policy.
std::string source_of(std::string_view page, std::string_view name) {
  const auto opening = "<" + std::string(name) + ">";
  const auto begin = page.find(opening) + opening.size();
  const auto end = page.find("</" + std::string(name) + ">", begin);
  const auto digest = digest_of(page.substr(begin, end - begin));
  return "'sha256-" + base64(digest) + "'";
}

}  // namespace

http_response ui_page_response() {
  static const std::string policy =
      "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action "
      "'none'; frame-ancestors 'none'; script-src " +
      source_of(ui_page, "script") + "; style-src " + source_of(ui_page, "style");
  http_response r;
  r.content_type = "text/html; charset=utf-8";
  r.headers = {{"Content-Security-Policy", policy},
               {"X-Content-Type-Options", "nosniff"},
               {"Referrer-Policy", "no-referrer"},
               {"Cache-Control", "no-cache"}};
  r.body = ui_page;
  return r;
}

}  // namespace troupe
