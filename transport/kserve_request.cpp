#include <charconv>

#include "transport/kserve_json.hpp"
#include "transport/kserve_refusal.hpp"
#include "transport/kserve_v2.hpp"

namespace troupe {
namespace {

using namespace kserve;

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

}  // namespace

http_result<infer_request> parse_infer(std::string_view body, const model_signature& signature,
                                       uint32_t max_rows) {
  try {
    return request_reader(body, signature, max_rows).read();
  } catch (http_error& e) {
    return std::move(e);
  }
}

}  // namespace troupe
