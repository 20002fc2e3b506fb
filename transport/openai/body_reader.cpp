#include "transport/openai/body_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace troupe::openai {
namespace {

template <class T>
std::optional<T> value_of(std::string_view text) {
  T value{};
  const auto* end = text.data() + text.size();
  const auto [stop, ec] = std::from_chars(text.data(), end, value);
  if (ec != std::errc{} || stop != end) return {};
  return value;
}

std::optional<int64_t> whole_of(std::string_view text) {
  if (const auto n = value_of<int64_t>(text)) return n;
  constexpr double exact = 0x1p53;
  const auto n = value_of<double>(text);
  if (!n || std::abs(*n) > exact || *n != std::floor(*n)) return {};
  return static_cast<int64_t>(*n);
}

}  // namespace

std::string shortened(std::string_view text) {
  size_t n = 40;
  if (text.size() <= n) return json_quote(text);
  while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
  return json_quote(std::string(text.substr(0, n)) + "...");
}

bool body_reader::has(std::string_view key) const { return std::ranges::find(taken_, key) != taken_.end(); }

void body_reader::wrong(place at, std::string_view must) {
  const auto found = in_.read_raw();
  const auto beginning = json_reader(found).ahead();
  refuse(at.text(), fmt::format("{}: {}, it is {}{}", at.text(), must, beginning,
                                beginning.size() < found.size() ? "..." : ""));
}

bool body_reader::take_null() {
  if (peek() != 'n') return false;
  in_.read_literal();
  return true;
}

bool body_reader::boolean(place at) {
  if (peek() != 't' && peek() != 'f') wrong(at, "must be true or false");
  return in_.read_literal() == "true";
}

int64_t body_reader::whole(place at, int64_t min, int64_t max) {
  const auto must = [&] { return fmt::format("must be a whole number from {} to {}", min, max); };
  if (!is_number()) wrong(at, must());
  const auto text = in_.read_number();
  const auto n = whole_of(text);
  if (!n || *n < min || *n > max)
    refuse(at.text(), fmt::format("{}: {}, it is {}", at.text(), must(), text.substr(0, 40)));
  return *n;
}

uint64_t body_reader::bits(place at) {
  constexpr std::string_view must = "must be a whole number of 64 bits";
  if (!is_number()) wrong(at, must);
  const auto text = in_.read_number();
  if (const auto n = value_of<uint64_t>(text)) return *n;
  const auto n = whole_of(text);
  if (!n) refuse(at.text(), fmt::format("{}: {}, it is {}", at.text(), must, text.substr(0, 40)));
  return static_cast<uint64_t>(*n);
}

double body_reader::number(place at, double min, double max) {
  const auto must = [&] { return fmt::format("must be a number from {} to {}", min, max); };
  if (!is_number()) wrong(at, must());
  const auto text = in_.read_number();
  const auto n = value_of<double>(text);
  if (!n || !(*n >= min && *n <= max))
    refuse(at.text(), fmt::format("{}: {}, it is {}", at.text(), must(), text.substr(0, 40)));
  return *n + 0.0;  // no -0
}

std::string body_reader::text(place at, size_t longest) {
  if (peek() != '"') wrong(at, "must be a string");
  auto s = in_.read_string();
  if (s.size() > longest)
    refuse(at.text(), fmt::format("{}: has {} bytes; at most {} are allowed", at.text(), s.size(), longest));
  return s;
}

}  // namespace troupe::openai
