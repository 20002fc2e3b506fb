#include "transport/kserve/given_input.hpp"

#include "transport/kserve/parameters.hpp"
#include "transport/kserve/refusal.hpp"

namespace troupe::kserve {
namespace {

int64_t read_dimension(json_reader& in) {
  const auto text = in.read_number();
  const auto d = whole<int64_t>(text);
  if (!d || *d < 0)
    refuse("shape: {} is not a dimension; dimensions are whole numbers, 0 or more", shortened(text));
  return *d;
}

}  // namespace

given_input read_input(json_reader& in, size_t index) {
  given_input x;
  const auto where = fmt::format("inputs[{}]: ", index);
  known_keys keys(where);
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
        if (x.shape.size() > 32) refuse("{}shape has more than 32 dimensions", where);
      });
    } else if (key == "data") {
      keys.once(x.has_data, key);
      x.data = in.skip_array();
    } else if (key == "parameters") {
      keys.once(x.has_parameters, key);
      parameter_reader parameters(in, where);
      parameters.read([&](const std::string& parameter, std::string_view value) {
        if (parameter == "binary_data_size")
          x.binary_size = parameters.number<uint64_t>(parameter, value, "bytes");
      });
    } else {
      in.read_raw();
    }
  });
  if (!x.has_name) refuse("{}\"name\" is missing", where);
  return x;
}

}  // namespace troupe::kserve
