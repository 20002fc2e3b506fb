// Runs the models that onnxruntime_test.py sends, one after the other. A request on standard input: the sizes
// of the model and of its input and the batch size (uint32 each), the model file, the input tensors one after
// the other. The answer on standard output: a size (uint32) and a JSON document of that size, {"error"} or
// {"outputs"}; the latter is followed by the bytes of all outputs fused, then of all outputs not fused.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu/model_error.hpp"
#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/loader.hpp"
#include "gpu/onnx/model.hpp"

using namespace troupe;

namespace {

bool read_exactly(void* to, size_t size) { return std::fread(to, 1, size, stdin) == size; }

void write_exactly(const void* from, size_t size) {
  if (std::fwrite(from, 1, size, stdout) != size) std::exit(1);
}

void answer(const nlohmann::json& head, const std::vector<std::vector<std::byte>>& outputs = {}) {
  const auto text = head.dump();
  const auto size = static_cast<uint32_t>(text.size());
  write_exactly(&size, sizeof size);
  write_exactly(text.data(), text.size());
  for (const auto& o : outputs) write_exactly(o.data(), o.size());
  std::fflush(stdout);
}

std::vector<std::byte> run_whole(const std::shared_ptr<const onnx::model>& m,
                                 std::span<const std::byte> input, uint32_t rows) {
  onnx::executor e(m, onnx::load_weights(*m));
  std::vector<std::byte> output(rows * output_row_bytes(m->signature()));
  const batch_part part{rows, input, output};
  e.run(rows, {&part, 1});
  return output;
}

/// Layer by layer, each in an executor of its own, as if on different machines.
std::vector<std::byte> run_layers(const std::shared_ptr<const onnx::model>& m,
                                  std::span<const std::byte> input, uint32_t rows) {
  const auto weights = onnx::load_weights(*m);
  onnx::activation at;
  for (const auto& spec : m->signature().inputs) {
    auto dims = spec.shape;
    dims.insert(dims.begin(), rows);
    const size_t bytes = rows * row_bytes(spec);
    at.push_back(onnx::make_tensor(spec.type, dims, input.first(bytes)));
    input = input.subspan(bytes);
  }
  for (size_t k = 0; k < m->layers().size(); ++k) {
    at = onnx::executor(m, weights).run({k, k + 1}, at);
  }
  std::vector<std::byte> output;
  for (const auto& t : at) output.insert(output.end(), t.data->data(), t.data->data() + t.bytes());
  return output;
}

void serve(std::span<const std::byte> file, std::span<const std::byte> input, uint32_t rows) {
  const auto graph = onnx::parse_graph(file, "model");
  const auto fused = std::make_shared<const onnx::model>(graph);
  const auto plain = std::make_shared<const onnx::model>(graph, onnx::fusion::off);
  const auto& signature = fused->signature();
  if (input.size() != rows * input_row_bytes(signature)) throw model_error("the input has another size");
  std::vector<std::vector<std::byte>> outputs{run_whole(fused, input, rows), run_whole(plain, input, rows)};
  if (run_layers(fused, input, rows) != outputs[0]) {
    return answer({{"error", "layer by layer it gives other bytes than at once"}});
  }
  auto specs = nlohmann::json::array();
  for (const auto& s : signature.outputs) {
    specs.push_back({{"name", s.name}, {"datatype", to_string(s.type)}, {"shape", s.shape}});
  }
  answer({{"outputs", specs}, {"layers", fused->layers().size()}}, outputs);
}

}  // namespace

int main() {
  onnx::use_operator_threads(1);
  uint32_t sizes[3];  // model, input, rows
  while (read_exactly(sizes, sizeof sizes)) {
    std::vector<std::byte> file(sizes[0]), input(sizes[1]);
    if (!read_exactly(file.data(), file.size()) || !read_exactly(input.data(), input.size())) return 1;
    try {
      serve(file, input, sizes[2]);
    } catch (const model_error& e) {
      answer({{"error", e.what()}});
    }
  }
  return 0;
}
