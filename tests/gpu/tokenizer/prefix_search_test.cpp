#include "gpu/tokenizer/prefix_search.hpp"

#include <doctest/doctest.h>

using namespace troupe::llm;

namespace {

/// The places of a text that are to be examined.
std::string places(const prefix_search& s, std::string_view text) {
  std::string all;
  for (size_t at = 0; (at = s.next(text, at)) < text.size(); ++at) all += std::to_string(at) + " ";
  return all;
}

}  // namespace

TEST_CASE("the longest string at a place is found") {
  const prefix_search s({"<a>", "<a>b", "<", "é", "", "<a>"});
  const auto found = s.longest("<a>bc");
  REQUIRE(found);
  CHECK(found->which == 1);
  CHECK(found->size == 4);
  CHECK(s.longest("<a>c")->which == 0);  // the first of equal ones
  CHECK(s.longest("<b")->which == 2);
  CHECK(s.longest("é")->size == 2);
  CHECK_FALSE(s.longest("x<"));
  CHECK_FALSE(s.longest("\xc3"));
  CHECK_FALSE(s.longest(""));
}

TEST_CASE("places are those where a string may begin") {
  CHECK(places(prefix_search({"<a>", "<b>"}), "<x <a") == "0 3 ");
  CHECK(places(prefix_search({"<a>", "é"}), "xé<é") == "1 3 4 ");
  CHECK(places(prefix_search({"<a>"}), "xyz") == "");
  CHECK(places(prefix_search({""}), "xyz") == "");
  CHECK(places(prefix_search(), "xyz") == "");
  CHECK(places(prefix_search({"<"}), "") == "");
}
