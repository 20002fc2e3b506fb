#include "tools/common/local_request.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

#include "messages/tensor/shaped_tensors.hpp"

namespace troupe {

std::vector<tensor_spec> request_inputs(const model_signature& s, int64_t rows) {
  std::vector<tensor_spec> out;
  for (const auto& t : s.inputs) {
    auto& whole = out.emplace_back(s.whole(t, rows));
    if (!whole.shape.empty() && whole.shape.front() < 0) whole.shape.front() = rows;
  }
  return out;
}

bool has_rows(const model_signature& s) {
  return s.batched || std::ranges::any_of(s.inputs, [](const auto& t) { return has_free_dimension(t); });
}

uint64_t request_bytes(const model_signature& s, int64_t rows) {
  return values_bytes(request_inputs(s, rows)).value_or(std::numeric_limits<uint64_t>::max());
}

std::optional<uint32_t> request_rows(const model_signature& s, uint64_t bytes) {
  if (!has_rows(s)) return bytes == request_bytes(s, 1) ? std::optional(1U) : std::nullopt;
  const auto fixed = request_bytes(s, 0), first = request_bytes(s, 1);  // some inputs may have no rows
  if (first == std::numeric_limits<uint64_t>::max() || bytes < first) return {};
  const auto row = first - fixed, rows = (bytes - fixed) / row;
  if ((bytes - fixed) % row != 0 || rows > std::numeric_limits<uint32_t>::max()) return {};
  return static_cast<uint32_t>(rows);
}

local_request::local_request(batch_model& model, uint32_t rows, std::span<const std::byte> values)
    : model_(model), rows_(rows), shaped_(has_free_dimension(model.signature())), input_(values) {
  const auto& signature = model.signature();
  assert(values.size() == request_bytes(signature, rows));
  if (!shaped_) {
    output_.resize((signature.batched ? rows : 1) * output_row_bytes(signature));
    return;
  }
  const auto tensors = request_inputs(signature, rows);
  shaped_input_.resize(shapes_bytes(tensors) + values.size());
  std::ranges::copy(values, write_shapes(tensors, shaped_input_).begin());
  input_ = shaped_input_;
}

void local_request::run() {
  const batch_part part{.rows = model_.signature().batched ? rows_ : 1,
                        .input = input_,
                        .output = shaped_ ? std::span<std::byte>{} : std::span<std::byte>{output_},
                        .shaped_output = shaped_ ? &output_ : nullptr};
  model_.run(part.rows, {&part, 1}, nullptr);
}

std::vector<tensor_spec> local_request::outputs() const {
  const auto& signature = model_.signature();
  if (shaped_) return read_shapes(signature.outputs, output_).value().tensors;
  std::vector<tensor_spec> out;
  for (const auto& t : signature.outputs) out.push_back(signature.whole(t, rows_));
  return out;
}

std::span<const std::byte> local_request::values() const {
  if (!shaped_) return output_;
  return std::span(output_).subspan(shapes_bytes(model_.signature().outputs));
}

}  // namespace troupe
