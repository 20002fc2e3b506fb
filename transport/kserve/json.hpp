// Pull reader of JSON text for the request path: the caller asks for the expected values, and all text is
// checked (RFC 8259, UTF-8 included); skipped values are scanned once. Errors are thrown as http_error 400
// and caught by the functions of v2.hpp; they never leave transport/.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

class json_reader {
 public:
  /// `what` names the text in messages: "malformed <what> at byte ...".
  explicit json_reader(std::string_view text, std::string what = "JSON")
      : text_(text), what_(std::move(what)) {}

  /// The next significant character, not consumed; 0 at the end of the text.
  char peek();
  bool take(char c);  ///< if it comes next

  /// Calls `member(key)` for each; it must consume the value.
  template <class Member>
  void read_object(Member member) {
    expect('{', "an object");
    if (take('}')) return;
    do {
      const std::string key = read_string();
      expect(':', "':' after a key");
      member(key);
    } while (take(','));
    expect('}', "',' or '}'");
  }
  /// Calls `element()` for each; it must consume it.
  template <class Element>
  void read_array(Element element) {
    expect('[', "an array");
    if (take(']')) return;
    do element();
    while (take(','));
    expect(']', "',' or ']'");
  }
  std::string read_string();
  std::string_view read_number();   ///< its text, of JSON's grammar
  std::string_view read_literal();  ///< true, false or null
  /// Any value, checked; returns its text.
  std::string_view read_raw();
  /// An array, up to its closing bracket and without a look at its elements; returns its text.
  std::string_view skip_array();
  void read_end();  ///< only white space is left

  /// Up to 40 characters from here on, for messages.
  std::string_view ahead();
  [[noreturn]] void fail(std::string_view expected);

 private:
  void expect(char c, std::string_view what);
  void skip_value(int depth);
  void append_escape(std::string& out);
  unsigned read_hex4();

  std::string_view text_;
  std::string what_;
  size_t at_ = 0;
};

}  // namespace troupe
