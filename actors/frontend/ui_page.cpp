#include "actors/frontend/ui_page.hpp"

#include <span>
#include <string>

#include "messages/common/base64.hpp"
#include "transport/tls/api_key.hpp"

namespace troupe {
namespace {

/// The hash of the text between <name> and </name>, as a source of a Content-Security-Policy.
std::string source_of(std::string_view page, std::string_view name) {
  const auto opening = "<" + std::string(name) + ">";
  const auto begin = page.find(opening) + opening.size();
  const auto end = page.find("</" + std::string(name) + ">", begin);
  const auto digest = digest_of(page.substr(begin, end - begin));
  return "'sha256-" + to_base64(std::as_bytes(std::span{digest})) + "'";
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
