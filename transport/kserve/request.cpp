#include "messages/common/base64.hpp"
#include "transport/kserve/given_input.hpp"
#include "transport/kserve/json.hpp"
#include "transport/kserve/parameters.hpp"
#include "transport/kserve/refusal.hpp"
#include "transport/kserve/v2.hpp"
#include "transport/kserve/values.hpp"

namespace troupe {
namespace {

using namespace kserve;

constexpr size_t longest_id = 1 << 10;  // kept with its request, and returned
constexpr std::string_view use_binary = "send it as binary data (parameters.binary_data_size)";
constexpr std::string_view want_binary = "ask for binary data (parameters.binary_data)";

std::optional<uint32_t> find(const std::vector<tensor_spec>& tensors, std::string_view name) {
  for (uint32_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == name) return i;
  return {};
}

class request_reader {
 public:
  request_reader(infer_body body, const model_signature& signature, uint32_t max_rows,
                 const file_inputs* files)
      : in_(body.json), binary_(body.binary), signature_(signature), max_rows_(max_rows), files_(files) {
    request_.inputs.resize(signature.inputs.size());
  }

  infer_request read() {
    known_keys keys("");
    bool id = false, parameters = false, inputs = false, outputs = false;
    in_.read_object([&](const std::string& key) {
      if (key == "id") {
        keys.once(id, key);
        request_.id = in_.read_string();
        if (request_.id.size() > longest_id)
          refuse("id has {} bytes; at most {} are allowed", request_.id.size(), longest_id);
      } else if (key == "parameters") {
        keys.once(parameters, key);
        read_parameters();
      } else if (key == "inputs") {
        keys.once(inputs, key);
        size_t index = 0;
        in_.read_array([&] { accept(read_input(in_, index++)); });
      } else if (key == "outputs") {
        keys.once(outputs, key);
        size_t index = 0;
        in_.read_array([&] { read_output(index++); });
      } else {
        in_.read_raw();
      }
    });
    in_.read_end();
    if (!inputs) refuse("\"inputs\" is missing");
    for (size_t i = 0; i < signature_.inputs.size(); ++i)
      if (!request_.inputs[i].given) refuse("input {} is missing", json_quote(signature_.inputs[i].name));
    if (!binary_.empty()) refuse("the last {} bytes of binary data belong to no input", binary_.size());
    finish_outputs(binary_output_);
    return std::move(request_);
  }

  /// The body holds the rows of the only input.
  infer_request read_raw() {
    if (signature_.inputs.size() != 1)
      refuse("a request without JSON is for models with one input; this one takes {}",
             names_of(signature_.inputs));
    const auto& t = signature_.inputs[0];
    const auto row = row_bytes(t);
    const bool whole_rows = row > 0 && binary_.size() % row == 0;
    if (takes_files(0) && !whole_rows && files_->is_file(binary_)) {
      take_rows(json_quote(t.name), 1);
      request_.inputs[0] = {binary_, true, true, row, infer_request::form::one_file};
      request_.input_bytes = row;
      finish_outputs(true);
      return std::move(request_);
    }
    if (row == 0 || binary_.size() % row != 0 || (!signature_.batched && binary_.size() != row))
      refuse("input {}: {} bytes are not {} {} bytes; its type and shape are {} {}", json_quote(t.name),
             binary_.size(), signature_.batched ? "a whole number of rows of" : "its", row, to_string(t.type),
             shape_text(signature_.whole(t, -1).shape));
    take_rows(json_quote(t.name), static_cast<int64_t>(binary_.size() / row));
    take_binary(t, request_.inputs[0], binary_.size());
    finish_outputs(true);
    return std::move(request_);
  }

 private:
  void accept(const given_input& x) {
    const auto index = find(signature_.inputs, x.name);
    if (!index)
      refuse("input {} is unknown; the model takes {}", shortened(x.name), names_of(signature_.inputs));
    const auto& t = signature_.inputs[*index];
    auto& into = request_.inputs[*index];
    const auto name = json_quote(t.name);
    if (into.given) refuse("input {} occurs twice", name);
    const bool as_files = takes_files(*index);
    const auto type = fmt::format("{}{}", to_string(t.type), as_files ? " or BYTES" : "");
    if (!x.has_type) refuse("input {}: \"datatype\" is missing; it must be {}", name, type);
    if (as_files && x.type == to_string(data_type::bytes)) return accept_files(x, t, into);
    if (x.type != to_string(t.type))
      refuse("input {}: datatype {} given, {} expected", name, shortened(x.type), type);
    if (!x.has_shape)
      refuse("input {}: \"shape\" is missing; it must be {}", name,
             shape_text(signature_.whole(t, -1).shape));
    check_shape(x.shape, t);
    take_rows(name, signature_.batched ? x.shape[0] : 1);
    if (x.binary_size && x.has_data) refuse("input {}: both \"data\" and binary_data_size are given", name);
    if (x.binary_size) return take_binary(t, into, *x.binary_size);
    check_json_form("input", t, use_binary);
    if (!x.has_data) refuse("input {}: \"data\" is missing", name);
    into = {x.data, false, true, bytes_of_json(x.data, signature_.whole(t, request_.rows))};
    request_.input_bytes += into.bytes;
  }

  bool takes_files(size_t input) const { return files_ != nullptr && files_->takes(input); }

  /// BYTES in place of the type of `t`.
  void accept_files(const given_input& x, const tensor_spec& t, infer_request::values& into) {
    const auto name = json_quote(t.name);
    if (!x.has_shape) refuse("input {}: \"shape\" is missing; of BYTES it must be [-1]", name);
    if (x.shape.empty() || x.shape.size() > 2 || x.shape.back() != (x.shape.size() == 2 ? 1 : x.shape[0]))
      refuse("input {}: shape {} given, [-1] or [-1,1] expected of BYTES, where -1 is the number of files",
             name, shape_text(x.shape));
    take_rows(name, x.shape[0]);
    if (x.binary_size && x.has_data) refuse("input {}: both \"data\" and binary_data_size are given", name);
    if (!x.binary_size && !x.has_data) refuse("input {}: \"data\" is missing", name);
    const auto text = x.binary_size ? take_bytes(name, *x.binary_size) : x.data;
    if (x.binary_size) check_binary(text, {t.name, data_type::bytes, x.shape});
    into = {text, x.binary_size.has_value(), true, row_bytes(signature_.whole(t, request_.rows)),
            infer_request::form::files};
    request_.input_bytes += into.bytes;
  }

  void check_shape(const std::vector<int64_t>& given, const tensor_spec& t) const {
    const auto expected = signature_.whole(t, -1).shape;
    auto any_rows = given;
    if (signature_.batched && !given.empty()) any_rows[0] = -1;
    if (any_rows == expected) return;
    refuse("input {}: shape {} given, {} expected{}", json_quote(t.name), shape_text(given),
           shape_text(expected), signature_.batched ? ", where -1 is the number of rows" : "");
  }

  void take_binary(const tensor_spec& t, infer_request::values& into, uint64_t size) {
    into = {take_bytes(json_quote(t.name), size), true, true, size};
    check_binary(into.text, signature_.whole(t, request_.rows));
    request_.input_bytes += size;
  }

  std::string_view take_bytes(const std::string& name, uint64_t size) {
    if (size > binary_.size())
      refuse(
          "input {}: binary_data_size is {}, but only {} bytes of binary data are left; "
          "Inference-Header-Content-Length is the size of the JSON before them",
          name, size, binary_.size());
    const auto taken = binary_.substr(0, size);
    binary_.remove_prefix(size);
    return taken;
  }

  void take_rows(const std::string& name, int64_t rows) {
    if (rows == 0) refuse("input {}: 0 rows given; the first dimension must be 1 or more", name);
    if (rows > max_rows_)
      refuse("input {}: {} rows given; the model takes at most {} in one request", name, rows, max_rows_);
    if (request_.rows != 0 && request_.rows != rows)
      refuse("input {}: {} rows given, but {} in the input before it", name, rows, request_.rows);
    request_.rows = static_cast<uint32_t>(rows);
  }

  void read_output(size_t index) {
    std::string name;
    bool has_name = false, has_parameters = false;
    std::optional<bool> binary;
    uint32_t classes = 0;
    const auto where = fmt::format("outputs[{}]: ", index);
    known_keys keys(where);
    in_.read_object([&](const std::string& key) {
      if (key == "name") {
        keys.once(has_name, key);
        name = in_.read_string();
      } else if (key == "parameters") {
        keys.once(has_parameters, key);
        parameter_reader parameters(in_, where);
        parameters.read([&](const std::string& parameter, std::string_view value) {
          if (parameter == "binary_data") binary = parameters.boolean(parameter, value);
          if (parameter == "classification")
            classes = parameters.number<uint32_t>(parameter, value, "classes");
        });
      } else {
        in_.read_raw();
      }
    });
    if (!has_name) refuse("{}\"name\" is missing", where);
    const auto output = find(signature_.outputs, name);
    if (!output)
      refuse("output {} is unknown; the model has {}", shortened(name), names_of(signature_.outputs));
    for (const auto& earlier : request_.outputs)
      if (earlier.output == *output) refuse("output {} occurs twice", json_quote(name));
    request_.outputs.push_back(
        {*output, binary.value_or(false), classes_of(signature_.outputs[*output], classes)});
    if (!binary) undecided_.push_back(request_.outputs.size() - 1);
  }

  /// Bounded by the values of a row, as in Triton.
  static uint32_t classes_of(const tensor_spec& t, uint32_t asked) {
    if (asked == 0) return 0;
    if (t.type == data_type::boolean || t.type == data_type::bytes || t.type == data_type::fp16 ||
        t.type == data_type::bf16)
      refuse("output {}: its values are {}, which cannot be classified", json_quote(t.name),
             to_string(t.type));
    if (has_free_dimension(t))
      refuse("output {}: its shape is not known before it is computed, so it cannot be classified",
             json_quote(t.name));
    return static_cast<uint32_t>(std::min<int64_t>(asked, elements(t)));
  }

  void finish_outputs(bool binary_unless_said) {
    for (auto i : undecided_) request_.outputs[i].binary = binary_unless_said;
    if (request_.outputs.empty())
      for (uint32_t i = 0; i < signature_.outputs.size(); ++i)
        request_.outputs.push_back({i, binary_unless_said, 0});
    for (const auto& w : request_.outputs)
      if (!w.binary && w.classes == 0) check_json_form("output", signature_.outputs[w.output], want_binary);
  }

  void read_parameters() {
    parameter_reader parameters(in_, "");
    parameters.read([&](const std::string& key, std::string_view value) {
      if (key == "slo_ms") {
        const auto ms = whole<double>(value);
        if (!ms || !(*ms > 0) || *ms > 86'400'000)
          refuse("parameters.slo_ms is {}; it must be a positive number of milliseconds, a day at most",
                 shortened(value));
        wait_at_most(from_ms(*ms));
      } else if (key == "timeout") {  // 0: none
        const auto us = parameters.number<uint64_t>(key, value, "microseconds");
        if (us > 0 && us < 86'400'000'000) wait_at_most(std::chrono::microseconds(us));
      } else if (key == "binary_data_output") {
        binary_output_ = parameters.boolean(key, value);
      }
    });
  }

  void wait_at_most(duration d) {
    request_.timeout = std::min(request_.timeout.value_or(d), std::max(d, duration(1)));
  }

  json_reader in_;
  std::string_view binary_;  // bytes that no input has taken yet
  const model_signature& signature_;
  uint32_t max_rows_;
  const file_inputs* files_;  // may be null
  bool binary_output_ = false;
  std::vector<size_t> undecided_;  // outputs that do not set binary_data
  infer_request request_;
};

/// The rows of input `i`, `t`, from their files.
void write_files(const infer_request& request, const tensor_spec& t, size_t i, std::span<std::byte> into,
                 const file_inputs& files) {
  const auto& given = request.inputs[i];
  const auto row_size = into.size() / request.rows;
  size_t row = 0;
  const auto write = [&](std::string_view file) {
    if (const auto why = files.write(i, file, into.subspan(row * row_size, row_size)); !why.empty())
      refuse("input {}: the file of row {} {}", json_quote(t.name), row, why);
    ++row;
  };
  if (given.as == infer_request::form::one_file) return write(given.text);
  if (given.binary) {
    each_bytes_element(std::as_bytes(std::span(given.text)), write);
    return;
  }
  each_json_string(given.text, {t.name, data_type::bytes, {request.rows, 1}}, [&](const std::string& text) {
    const auto file = from_base64(text);
    if (!file)
      refuse("input {}: the file of row {} is not base64; encode it so, or {}", json_quote(t.name), row,
             use_binary);
    write(*file);
  });
}

}  // namespace

http_result<infer_body> split_infer_body(std::string_view body, std::optional<std::string_view> json_bytes) {
  if (!json_bytes) return infer_body{body, {}};
  const auto n = whole<uint64_t>(*json_bytes);
  if (!n || *n > body.size())
    return http_error{
        400, fmt::format("Inference-Header-Content-Length is {}; it must be the number of bytes of JSON "
                         "in this body of {}",
                         shortened(*json_bytes), body.size())};
  return infer_body{body.substr(0, *n), body.substr(*n)};
}

http_result<infer_request> parse_infer(infer_body body, const model_signature& signature, uint32_t max_rows,
                                       const file_inputs* files) {
  try {
    request_reader reader(body, signature, max_rows, files);
    return body.json.empty() && !body.binary.empty() ? reader.read_raw() : reader.read();
  } catch (http_error& e) {
    return std::move(e);
  }
}

std::optional<http_error> write_inputs(const infer_request& request, const model_signature& signature,
                                       std::span<std::byte> into, const file_inputs* files) {
  if (into.size() != request.input_bytes)
    return http_error{500, "the memory for the inputs has the wrong size"};
  try {
    auto* out = into.data();
    for (size_t i = 0; i < signature.inputs.size(); ++i) {
      const auto& given = request.inputs[i];
      if (given.as != infer_request::form::tensor)
        write_files(request, signature.inputs[i], i, {out, given.bytes}, *files);
      else if (given.binary)
        std::copy_n(reinterpret_cast<const std::byte*>(given.text.data()), given.bytes, out);
      else
        write_json(given.text, signature.whole(signature.inputs[i], request.rows), out);
      out += given.bytes;
    }
    return {};
  } catch (http_error& e) {
    return std::move(e);
  }
}

}  // namespace troupe
