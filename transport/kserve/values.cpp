#include "transport/kserve/values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "transport/kserve/json.hpp"
#include "transport/kserve/refusal.hpp"

namespace troupe::kserve {
namespace {

// JSON array of one input, flat or nested according to its shape, element by element.
class json_values {
 public:
  json_values(std::string_view text, const tensor_spec& spec)
      : in_(text, "data of input " + json_quote(spec.name)),
        spec_(spec),
        shape_(spec.shape),
        total_(static_cast<uint64_t>(elements(spec))) {}

  /// Calls `read(*this)` for each element; it consumes the element. Reads no more elements than the shape
  /// has, because a small compressed body may hold millions.
  template <class Read>
  void each(Read read) {
    json_reader probe = in_;
    if (probe.take('[') && probe.peek() == '[' && shape_.size() > 1)
      read_level(0, read);
    else
      read_flat(read);
    in_.read_end();
  }

  uint64_t count() const { return count_; }

  template <class T>
  T read_number_or_bool() {
    const char first = in_.peek();
    if constexpr (std::is_same_v<T, bool>) {
      if (first == 't' || first == 'f') return in_.read_literal() == "true";
      refuse("input {}: element {} is {}: BOOL needs true or false", name(), count_, found());
    } else {
      if (first != '-' && (first < '0' || first > '9'))
        refuse("input {}: element {} is {}: {} needs a number{}", name(), count_, found(),
               to_string(spec_.type),
               std::is_floating_point_v<T> ? " (JSON has no NaN and no infinity)" : "");
      const auto text = in_.read_number();
      T value{};
      const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (ec == std::errc{} && end == text.data() + text.size()) return value;
      return convert_the_long_way<T>(text);
    }
  }

  std::string read_string() {
    if (in_.peek() != '"')
      refuse("input {}: element {} is {}: BYTES needs a string", name(), count_, found());
    return in_.read_string();
  }

 private:
  template <class Read>
  void read_flat(Read& read) {
    in_.read_array([&] {
      if (count_ == total_)
        refuse("input {}: data has more than {} elements, shape {} needs {}", name(), total_,
               shape_text(shape_), total_);
      read(*this);
      ++count_;
    });
    if (count_ != total_)
      refuse("input {}: data has {} elements, shape {} needs {}", name(), count_, shape_text(shape_), total_);
  }

  template <class Read>
  void read_level(size_t level, Read& read) {
    int64_t length = 0;
    const bool innermost = level + 1 == shape_.size();
    if (in_.peek() != '[')
      refuse("input {}: data is nested, but element {} is not {} levels deep as in shape {}", name(), count_,
             shape_.size(), shape_text(shape_));
    in_.read_array([&] {
      if (length == shape_[level])
        refuse("input {}: data has more than {} elements at level {}, shape {} needs {}", name(), length,
               level + 1, shape_text(shape_), length);
      ++length;
      if (innermost) {
        read(*this);
        ++count_;
      } else {
        read_level(level + 1, read);
      }
    });
    if (length != shape_[level])
      refuse("input {}: data has {} elements at level {}, shape {} needs {}", name(), length, level + 1,
             shape_text(shape_), shape_[level]);
  }

  /// Integers written as 3.0 or 3e2, floats too small for their type, and numbers out of range.
  template <class T>
  T convert_the_long_way(std::string_view text) {
    const double wide = std::strtod(std::string(text).c_str(), nullptr);
    if constexpr (std::is_floating_point_v<T>) {
      if (std::abs(wide) <= static_cast<double>(std::numeric_limits<T>::max())) return static_cast<T>(wide);
    } else {
      if (wide != std::floor(wide))
        refuse("input {}: element {} is {}: {} needs a whole number", name(), count_, shortened(text),
               to_string(spec_.type));
      // 2^63 and 2^64 are doubles, their predecessors are not: compare from below.
      const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
      const bool spelled_as_float = text.find_first_of(".eE") != std::string_view::npos || text == "-0";
      if (spelled_as_float && wide < limit && wide >= (std::is_signed_v<T> ? -limit : 0))
        return static_cast<T>(wide);
    }
    refuse("input {}: element {} is {}: out of range for {}", name(), count_, shortened(text),
           to_string(spec_.type));
  }

  std::string name() const { return json_quote(spec_.name); }
  std::string found() { return in_.peek() == 0 ? "missing" : shortened(first_value()); }
  std::string_view first_value() {
    const auto ahead = in_.ahead();
    return ahead.substr(0, ahead.find_first_of(",]}", 1));
  }

  json_reader in_;
  const tensor_spec& spec_;
  const std::vector<int64_t>& shape_;
  const uint64_t total_;
  uint64_t count_ = 0;
};

template <class T>
void append_numbers(std::string& out, const tensor_spec& t, std::span<const std::byte> bytes) {
  char digits[32];
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    if (i > 0) out += ',';
    if constexpr (std::is_floating_point_v<T>)
      if (!std::isfinite(value))
        throw http_error{500, fmt::format("tensor {} has {} in element {}, which has no JSON form; ask for "
                                          "binary data",
                                          json_quote(t.name), value, i)};
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out.append(digits, end);
  }
}

void append_booleans(std::string& out, std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) out += ',';
    out += bytes[i] != std::byte{} ? "true" : "false";
  }
}

}  // namespace

uint64_t bytes_of_json(std::string_view text, const tensor_spec& t) {
  if (t.type != data_type::bytes) return row_bytes(t);
  uint64_t bytes = 0;
  json_values(text, t).each([&](json_values& in) { bytes += 4 + in.read_string().size(); });
  return bytes;
}

void write_json(std::string_view text, const tensor_spec& t, std::byte* out) {
  json_values values(text, t);
  if (t.type == data_type::bytes)
    return values.each([&](json_values& in) {
      std::string element;
      append_bytes_element(element, in.read_string());
      std::memcpy(out, element.data(), element.size());
      out += element.size();
    });
  with_type(t.type, [&]<class T>(T) {
    values.each([&](json_values& in) {
      const T value = in.read_number_or_bool<T>();
      std::memcpy(out + in.count() * sizeof(T), &value, sizeof(T));
    });
  });
}

void each_json_string(std::string_view text, const tensor_spec& t,
                      const std::function<void(const std::string&)>& string) {
  json_values(text, t).each([&](json_values& in) { string(in.read_string()); });
}

void check_binary(std::string_view values, const tensor_spec& t) {
  const auto name = json_quote(t.name);
  const auto bytes = std::as_bytes(std::span(values));
  if (t.type == data_type::bytes) {
    uint64_t count = 0;
    if (!each_bytes_element(bytes, [&](std::string_view) { ++count; }))
      refuse("input {}: binary data ends in the middle of element {}", name, count);
    if (const auto needed = static_cast<uint64_t>(elements(t)); count != needed)
      refuse("input {}: binary data has {} elements, shape {} needs {}", name, count, shape_text(t.shape),
             needed);
  } else {
    if (const auto needed = row_bytes(t); values.size() != needed)
      refuse("input {}: binary_data_size is {}, shape {} of {} needs {}", name, values.size(),
             shape_text(t.shape), to_string(t.type), needed);
    if (t.type != data_type::boolean) return;
    const auto odd = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
    if (odd != bytes.end())
      refuse("input {}: element {} is {}: BOOL needs 0 or 1", name, odd - bytes.begin(),
             static_cast<unsigned>(*odd));
  }
}

std::span<const std::byte> first_of(std::span<const std::byte> values, const tensor_spec& t) {
  if (t.type != data_type::bytes) return values.first(std::min<uint64_t>(row_bytes(t), values.size()));
  auto left = static_cast<uint64_t>(elements(t));
  size_t end = 0;
  while (left > 0 && values.size() - end >= 4) {
    uint32_t size = 0;
    std::memcpy(&size, values.data() + end, 4);
    if (size > values.size() - end - 4) break;
    end += 4 + size;
    --left;
  }
  return left == 0 ? values.first(end) : std::span<const std::byte>{};
}

void append_json(std::string& out, const tensor_spec& t, std::span<const std::byte> values) {
  if (t.type == data_type::boolean) return append_booleans(out, values);
  if (t.type == data_type::bytes) {
    bool first = true;
    each_bytes_element(values, [&](std::string_view element) {
      if (!std::exchange(first, false)) out += ',';
      out += json_quote(element);
    });
    return;
  }
  with_type(t.type, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bool>) append_numbers<T>(out, t, values);
  });
}

}  // namespace troupe::kserve
