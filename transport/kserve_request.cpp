#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "transport/http_message.hpp"
#include "transport/kserve_json.hpp"
#include "transport/kserve_v2.hpp"

namespace troupe {
namespace {

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw http_error{400, fmt::format(format, std::forward<Args>(args)...)};
}

std::string shape_text(std::span<const int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

std::vector<int64_t> with_batch(int64_t rows, const tensor_spec& t) {
  std::vector<int64_t> shape{rows};
  shape.insert(shape.end(), t.shape.begin(), t.shape.end());
  return shape;
}

std::string names_of(const std::vector<tensor_spec>& tensors) {
  std::string names;
  for (const auto& t : tensors) names += (names.empty() ? "" : ", ") + json_quote(t.name);
  return names;
}

std::optional<uint32_t> find(const std::vector<tensor_spec>& tensors, std::string_view name) {
  for (uint32_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == name) return i;
  return {};
}

std::string shortened(std::string_view text) {
  return json_quote(text.size() <= 80 ? std::string(text) : std::string(text.substr(0, 77)) + "...");
}

void check_json_form(std::string_view what, const tensor_spec& t) {
  if (t.type == data_type::fp16 || t.type == data_type::bf16)
    refuse("{} {} is {}, which has no JSON form", what, json_quote(t.name), to_string(t.type));
}

// The keys of one JSON object that we know, each at most once.
class known_keys {
 public:
  explicit known_keys(std::string where) : where_(std::move(where)) {}
  void once(bool& seen, std::string_view key) {
    if (std::exchange(seen, true)) refuse("{}key \"{}\" occurs twice", where_, key);
  }

 private:
  std::string where_;
};

struct given_input {
  std::string name, type;
  std::vector<int64_t> shape;
  std::string_view data;
  bool has_name = false, has_type = false, has_shape = false, has_data = false, has_parameters = false;
  bool binary = false;
};

int64_t read_dimension(json_reader& in) {
  const auto text = in.read_number();
  int64_t d = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), d);
  if (ec != std::errc{} || end != text.data() + text.size() || d < 0)
    refuse("shape: {} is not a dimension; dimensions are whole numbers, 0 or more", shortened(text));
  return d;
}

given_input read_input(json_reader& in, size_t index) {
  given_input x;
  known_keys keys(fmt::format("inputs[{}]: ", index));
  in.read_object([&](const std::string& key) {
    if (key == "name") {
      keys.once(x.has_name, key);
      x.name = in.read_string();
    } else if (key == "datatype") {
      keys.once(x.has_type, key);
      x.type = in.read_string();
    } else if (key == "shape") {
      keys.once(x.has_shape, key);
      in.read_array([&] {
        x.shape.push_back(read_dimension(in));
        if (x.shape.size() > 32) refuse("inputs[{}]: shape has more than 32 dimensions", index);
      });
    } else if (key == "data") {
      keys.once(x.has_data, key);
      x.data = in.skip_array();
    } else if (key == "parameters") {
      keys.once(x.has_parameters, key);
      in.read_object([&](const std::string& parameter) {
        x.binary |= parameter == "binary_data_size";
        in.read_raw();
      });
    } else {
      in.read_raw();
    }
  });
  if (!x.has_name) refuse("inputs[{}]: \"name\" is missing", index);
  return x;
}

class request_reader {
 public:
  request_reader(std::string_view body, const model_signature& signature, uint32_t max_rows)
      : in_(body), signature_(signature), max_rows_(max_rows) {
    request_.data.resize(signature.inputs.size());
  }

  infer_request read() {
    known_keys keys("");
    bool id = false, parameters = false, inputs = false, outputs = false;
    in_.read_object([&](const std::string& key) {
      if (key == "id") {
        keys.once(id, key);
        request_.id = in_.read_string();
      } else if (key == "parameters") {
        keys.once(parameters, key);
        read_parameters();
      } else if (key == "inputs") {
        keys.once(inputs, key);
        size_t index = 0;
        in_.read_array([&] { accept(read_input(in_, index++)); });
      } else if (key == "outputs") {
        keys.once(outputs, key);
        read_outputs();
      } else {
        in_.read_raw();
      }
    });
    in_.read_end();
    if (!inputs) refuse("\"inputs\" is missing");
    for (size_t i = 0; i < signature_.inputs.size(); ++i)
      if (request_.data[i].empty()) refuse("input {} is missing", json_quote(signature_.inputs[i].name));
    if (request_.outputs.empty())
      for (uint32_t i = 0; i < signature_.outputs.size(); ++i) request_.outputs.push_back(i);
    for (auto i : request_.outputs) check_json_form("output", signature_.outputs[i]);
    return std::move(request_);
  }

 private:
  void accept(const given_input& x) {
    const auto index = find(signature_.inputs, x.name);
    if (!index)
      refuse("input {} is unknown; the model takes {}", shortened(x.name), names_of(signature_.inputs));
    const auto& t = signature_.inputs[*index];
    const auto name = json_quote(t.name);
    if (!request_.data[*index].empty()) refuse("input {} occurs twice", name);
    check_json_form("input", t);
    if (!x.has_type) refuse("input {}: \"datatype\" is missing; it is {}", name, to_string(t.type));
    if (x.type != to_string(t.type))
      refuse("input {}: datatype {} given, {} expected", name, shortened(x.type), to_string(t.type));
    if (!x.has_shape) refuse("input {}: \"shape\" is missing; it is {}", name, shape_text(with_batch(-1, t)));
    if (x.shape.empty() || x.shape != with_batch(x.shape[0], t))
      refuse("input {}: shape {} given, {} expected, where -1 is the number of rows", name,
             shape_text(x.shape), shape_text(with_batch(-1, t)));
    take_rows(name, x.shape[0]);
    if (x.binary) refuse("input {}: binary tensor data is not supported; send \"data\" as JSON", name);
    if (!x.has_data) refuse("input {}: \"data\" is missing", name);
    request_.data[*index] = x.data;
  }

  void take_rows(const std::string& name, int64_t rows) {
    if (rows == 0) refuse("input {}: 0 rows given; the first dimension must be 1 or more", name);
    if (rows > max_rows_)
      refuse("input {}: {} rows given; the model takes at most {} in one request", name, rows, max_rows_);
    if (request_.rows != 0 && request_.rows != rows)
      refuse("input {}: {} rows given, but {} in the input before it", name, rows, request_.rows);
    request_.rows = static_cast<uint32_t>(rows);
  }

  void read_outputs() {
    size_t index = 0;
    in_.read_array([&] {
      std::string name;
      bool has_name = false;
      known_keys keys(fmt::format("outputs[{}]: ", index));
      in_.read_object([&](const std::string& key) {
        if (key != "name") return void(in_.read_raw());
        keys.once(has_name, key);
        name = in_.read_string();
      });
      if (!has_name) refuse("outputs[{}]: \"name\" is missing", index);
      const auto output = find(signature_.outputs, name);
      if (!output)
        refuse("output {} is unknown; the model gives {}", shortened(name), names_of(signature_.outputs));
      for (auto earlier : request_.outputs)
        if (earlier == *output) refuse("output {} occurs twice", json_quote(name));
      request_.outputs.push_back(*output);
      ++index;
    });
  }

  void read_parameters() {
    if (in_.peek() != '{') in_.fail("an object under \"parameters\"");
    request_.parameters = in_.read_raw();
    json_reader inner(request_.parameters);
    inner.read_object([&](const std::string& key) {
      const auto value = inner.read_raw();
      if (key != "slo_ms") return;
      double ms = 0;
      const auto [end, ec] = std::from_chars(value.data(), value.data() + value.size(), ms);
      if (ec != std::errc{} || end != value.data() + value.size() || !(ms > 0) || ms > 86'400'000)
        refuse("parameters.slo_ms is {}; it must be a positive number of milliseconds, a day at most",
               shortened(value));
      request_.slo_ms = ms;
    });
  }

  json_reader in_;
  const model_signature& signature_;
  uint32_t max_rows_;
  infer_request request_;
};

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
    case data_type::bf16: check_json_form("input", t);
  }
}

}  // namespace

http_result<infer_request> parse_infer(std::string_view body, const model_signature& signature,
                                       uint32_t max_rows) {
  try {
    return request_reader(body, signature, max_rows).read();
  } catch (http_error& e) {
    return std::move(e);
  }
}

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
