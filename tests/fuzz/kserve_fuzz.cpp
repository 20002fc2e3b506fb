// What parse_infer and write_inputs take is JSON, and what comes out of format_infer reads back as the same
// bytes. The first byte of the input chooses the model.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "transport/kserve_v2.hpp"

namespace {

using namespace troupe;

const model_signature models[] = {
    {{{"x", data_type::fp32, {2}}}, {{"x", data_type::fp32, {2}}}},
    {{{"x", data_type::int64, {}}, {"b", data_type::boolean, {1, 2}}},
     {{"x", data_type::int64, {}}, {"b", data_type::boolean, {1, 2}}}},
    {{{"x", data_type::fp64, {1}}, {"b", data_type::uint8, {}}},
     {{"x", data_type::fp64, {1}}, {"b", data_type::uint8, {}}}},
};

void require(bool ok) {
  if (!ok) std::abort();
}

// The library also refuses numbers that overflow a double, also where we only skip them.
bool may_overflow(std::string_view body) {
  return body.find_first_of("eE") != std::string_view::npos || body.size() > 300;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  const auto& model = models[bytes[0] % std::size(models)];
  const std::string_view body(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const auto request = parse_infer(body, model, 4);
  if (!request) return 0;
  std::vector<std::byte> values(request->rows * input_row_bytes(model));
  if (write_inputs(*request, model, values)) return 0;
  require(may_overflow(body) || nlohmann::json::accept(body));

  auto response = format_infer({"m"}, *request, model, values, 1);  // its outputs are like its inputs
  require(bool(response));
  require(nlohmann::json::accept(*response));
  if (request->outputs.size() != model.inputs.size()) return 0;
  response->replace(response->rfind(",\"outputs\":["), 11, ",\"inputs\":");
  const auto again = parse_infer(*response, model, 4);
  require(bool(again));
  std::vector<std::byte> back(values.size());
  require(!write_inputs(*again, model, back));
  require(back == values);
  require(again->id == request->id);
  return 0;
}
