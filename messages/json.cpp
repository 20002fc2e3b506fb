#include "messages/json.hpp"

namespace troupe::detail {

std::string hex(const std::vector<uint8_t>& data) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * data.size());
  for (auto b : data) {
    out += digits[b >> 4];
    out += digits[b & 15];
  }
  return out;
}

std::vector<uint8_t> unhex(const std::string& text, const std::string& at) {
  std::vector<uint8_t> out(text.size() / 2);
  for (size_t i = 0; i < out.size(); ++i) {
    const char* p = text.data() + 2 * i;
    if (const auto r = std::from_chars(p, p + 2, out[i], 16); r.ptr != p + 2)
      throw json_error(at + ": not hexadecimal");
  }
  if (text.size() % 2 != 0) throw json_error(at + ": an odd number of hexadecimal digits");
  return out;
}

}  // namespace troupe::detail
