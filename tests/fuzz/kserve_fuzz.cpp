// Bodies accepted by parse_infer and write_inputs are JSON followed by binary data, and the output of
// format_infer reads back as the same bytes. The first byte of the input chooses the model, the next two the
// length of the JSON. The same text is also read as a model repository request, and as one to a model with
// several lengths: outputs that are like the padded inputs are cut back to them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "transport/kserve/repository.hpp"
#include "transport/kserve/shape_choice.hpp"
#include "transport/kserve/v2.hpp"

namespace {

using namespace troupe;

const model_signature models[] = {
    {{{"x", data_type::fp32, {2}}}, {{"x", data_type::fp32, {2}}}},
    {{{"x", data_type::int64, {}}, {"b", data_type::boolean, {1, 2}}},
     {{"x", data_type::int64, {}}, {"b", data_type::boolean, {1, 2}}}},
    {{{"x", data_type::fp64, {1}}, {"b", data_type::uint8, {}}},
     {{"x", data_type::fp64, {1}}, {"b", data_type::uint8, {}}}},
    {{{"x", data_type::bytes, {2}}, {"b", data_type::int16, {2}}},
     {{"x", data_type::bytes, {2}}, {"b", data_type::int16, {2}}}},
    {{{"x", data_type::bf16, {2}}}, {{"x", data_type::bf16, {2}}}},
};

/// Files of the first model's input are its row, of any bytes but none.
class any_files final : public file_inputs {
 public:
  bool takes(size_t input) const override { return input == 0; }
  bool is_file(std::string_view body) const override { return body.starts_with("file"); }
  std::string write(size_t, std::string_view file, std::span<std::byte> row) const override {
    if (row.size() != 2 * sizeof(float)) std::abort();
    std::ranges::fill(row, static_cast<std::byte>(file.size()));
    return file.empty() ? "is empty" : "";
  }
};

void require(bool ok) {
  if (!ok) std::abort();
}

// The library also refuses numbers that overflow a double, even where the parser only skips them.
bool may_overflow(std::string_view body) {
  return body.find_first_of("eE") != std::string_view::npos || body.size() > 300;
}

}  // namespace

/// The response as a request for the same model: its outputs as inputs, binary as binary.
infer_body as_request(const written_body& response, std::string& memory) {
  memory = response.body;
  const auto json = memory.substr(0, response.json_bytes.value_or(memory.size()));
  const auto at = json.rfind(",\"outputs\":[");
  memory.replace(at, 11, ",\"parameters\":{\"binary_data_output\":true},\"inputs\":");
  const auto grown = json.size() + memory.size() - response.body.size();
  return {std::string_view(memory).substr(0, grown), std::string_view(memory).substr(grown)};
}

bool classified(const infer_request& request) {
  for (const auto& w : request.outputs)
    if (w.classes > 0) return true;
  return false;
}

model_signature of_length(int64_t n) {
  const std::vector<tensor_spec> tensors{{"x", data_type::fp32, {n, 2}}, {"b", data_type::int8, {n}}};
  return {tensors, tensors};
}

void pad_and_cut(infer_body body) {
  static const std::vector<model_signature> shapes{of_length(2), of_length(3), of_length(7)};
  static const std::vector<uint32_t> lengths{2, 3, 7};
  static const std::vector<input_constant> inputs{{"x", -1}, {"b", 3}};
  const auto sent = read_sent_shapes(body, shapes[0]);
  if (!sent) return;
  (void)choose_shape(*sent, shapes);
  const padded_axis by{1, lengths, inputs};
  const auto chosen = choose_length(*sent, shapes, by);
  if (!chosen) return;
  const auto request = parse_infer(body, chosen->sent, 4);
  if (!request) return;
  std::vector<std::byte> values(request->input_bytes);
  if (write_inputs(*request, chosen->sent, values)) return;
  const auto& runs = shapes[chosen->shape];
  std::vector<std::byte> padded(input_row_bytes(runs) * request->rows);
  pad_inputs(chosen->sent, runs, request->rows, by, values, padded);
  require(cut_outputs(runs, chosen->sent, request->rows, padded) == values);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size < 3) return 0;
  const auto& model = models[bytes[0] % std::size(models)];
  const std::string_view all(reinterpret_cast<const char*>(bytes) + 3, size - 3);
  (void)parse_repository_load(all);
  (void)parse_repository_index(all);
  const auto json_bytes = std::to_string(bytes[1] + 256 * bytes[2]);
  const auto body =
      split_infer_body(all, json_bytes == "0" ? std::nullopt : std::optional<std::string_view>(json_bytes));
  if (!body) return 0;
  pad_and_cut(*body);
  const any_files any;
  const auto* files = &model == models ? &any : nullptr;
  const auto request = parse_infer(*body, model, 4, files);
  if (!request) return 0;
  std::vector<std::byte> values(request->input_bytes);
  if (write_inputs(*request, model, values, files)) return 0;
  require(body->json.empty() || may_overflow(body->json) || nlohmann::json::accept(body->json));

  const auto response = format_infer({"m"}, *request, model, values, 0);  // outputs are like inputs
  if (!response) {
    require(response.error().status == 500 &&
            response.error().message.find("no JSON form") != std::string::npos);
    return 0;
  }
  require(
      nlohmann::json::accept(response->body.substr(0, response->json_bytes.value_or(response->body.size()))));
  if (request->outputs.size() != model.inputs.size() || classified(*request)) return 0;
  std::string memory;
  const auto again = parse_infer(as_request(*response, memory), model, 4);
  require(bool(again));
  std::vector<std::byte> back(again->input_bytes);
  require(!write_inputs(*again, model, back));
  require(back == values || model.inputs[0].type == data_type::bytes);  // JSON replaces invalid UTF-8
  require(again->id == request->id);
  return 0;
}
