#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "transport/kserve_json.hpp"
#include "transport/kserve_refusal.hpp"
#include "transport/kserve_v2.hpp"

namespace troupe {
namespace {

using namespace kserve;

// Converts one input's data, element by element, to `out`.
template <class T>
class element_writer {
 public:
  element_writer(std::string_view data, const tensor_spec& spec, uint32_t rows, std::byte* out)
      : in_(data, "data of input " + json_quote(spec.name)),
        spec_(spec),
        shape_(with_batch(rows, spec)),
        out_(out) {
    for (auto d : shape_) total_ *= static_cast<uint64_t>(d);
  }

  void write() {
    json_reader probe = in_;
    const bool nested = probe.take('[') && probe.peek() == '[' && shape_.size() > 1;
    if (nested)
      write_level(0);
    else
      write_flat();
    in_.read_end();
  }

 private:
  void write_flat() {
    in_.read_array([&] { write_element(); });
    if (count_ != total_)
      refuse("input {}: data has {} elements, shape {} needs {}", name(), count_, shape_text(shape_), total_);
  }

  void write_level(size_t level) {
    int64_t length = 0;
    const bool innermost = level + 1 == shape_.size();
    if (in_.peek() != '[')
      refuse("input {}: data is nested, but element {} is not {} levels deep as shape {} says", name(),
             count_, shape_.size(), shape_text(shape_));
    in_.read_array([&] {
      ++length;
      if (innermost)
        write_element();
      else
        write_level(level + 1);
    });
    if (length != shape_[level])
      refuse("input {}: data has {} elements at level {}, shape {} needs {}", name(), length, level + 1,
             shape_text(shape_), shape_[level]);
  }

  void write_element() {
    const T value = read_element();
    if (count_ < total_) std::memcpy(out_ + count_ * sizeof(T), &value, sizeof(T));
    ++count_;
  }

  T read_element() {
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
      return convert_the_long_way(text);
    }
  }

  /// Integers written as 3.0 or 3e2; floats too small for their type; and what is out of range.
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
  std::vector<int64_t> shape_;
  std::byte* out_;
  uint64_t total_ = 1;
  uint64_t count_ = 0;
};

void write_input(std::string_view data, const tensor_spec& t, uint32_t rows, std::byte* out) {
  auto as = [&]<class T>(T) { element_writer<T>(data, t, rows, out).write(); };
  switch (t.type) {
    case data_type::boolean: return as(bool{});
    case data_type::uint8: return as(uint8_t{});
    case data_type::uint16: return as(uint16_t{});
    case data_type::uint32: return as(uint32_t{});
    case data_type::uint64: return as(uint64_t{});
    case data_type::int8: return as(int8_t{});
    case data_type::int16: return as(int16_t{});
    case data_type::int32: return as(int32_t{});
    case data_type::int64: return as(int64_t{});
    case data_type::fp32: return as(float{});
    case data_type::fp64: return as(double{});
    case data_type::fp16:
    case data_type::bf16:
    case data_type::bytes: check_json_form("input", t);
  }
}

}  // namespace

std::optional<http_error> write_inputs(const infer_request& request, const model_signature& signature,
                                       std::span<std::byte> into) {
  if (into.size() != request.rows * input_row_bytes(signature))
    return http_error{500, "the memory for the inputs has the wrong size"};
  try {
    auto* out = into.data();
    for (size_t i = 0; i < signature.inputs.size(); ++i) {
      write_input(request.data[i], signature.inputs[i], request.rows, out);
      out += request.rows * row_bytes(signature.inputs[i]);
    }
    return {};
  } catch (http_error& e) {
    return std::move(e);
  }
}

}  // namespace troupe
