#include "actors/frontend/ui_page.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace troupe;

TEST_CASE("ui_page: the page loads nothing from other hosts, and its policy has the hash of its script") {
  const auto r = ui_page_response();
  CHECK(r.status == 200);
  CHECK(r.body.find("http://") == std::string::npos);
  CHECK(r.body.find("https://") == std::string::npos);
  CHECK(r.body.find("innerHTML") == std::string::npos);
  const auto policy = std::string(r.headers.find("Content-Security-Policy").value());
  CHECK(policy.starts_with("default-src 'none'; "));
  const auto script = policy.find("script-src 'sha256-");
  REQUIRE(script != std::string::npos);
  const auto hash = policy.substr(script + 19);
  CHECK(hash.find('\'') == 44);  // 32 bytes in base64
  CHECK(hash[43] == '=');
}
