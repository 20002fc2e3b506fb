// The loop of the programs that run the models sent by onnxruntime_test.py, one after the other. A request on
// standard input: the sizes of the model and of its input and the batch size (uint32 each), the model file,
// the input tensors one after the other. The answer on standard output: a size (uint32) and a JSON document
// of that size, {"error"} or {"outputs"}; the latter is followed by the bytes of all outputs, once for each
// of the two ways to run the model.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe::onnx {

struct random_model_answer {
  model_signature signature;
  std::vector<std::vector<std::byte>> outputs;  ///< by way
};

namespace random_model_server {

inline bool read_exactly(void* to, size_t size) { return std::fread(to, 1, size, stdin) == size; }

inline void write_exactly(const void* from, size_t size) {
  if (std::fwrite(from, 1, size, stdout) != size) std::exit(1);
}

inline void answer(const nlohmann::json& head, const std::vector<std::vector<std::byte>>& outputs = {}) {
  const auto text = head.dump();
  const auto size = static_cast<uint32_t>(text.size());
  write_exactly(&size, sizeof size);
  write_exactly(text.data(), text.size());
  for (const auto& o : outputs) write_exactly(o.data(), o.size());
  std::fflush(stdout);
}

}  // namespace random_model_server

/// `run(file, input, rows)` gives a random_model_answer or throws model_error. Returns an exit code.
template <class Run>
int serve_random_models(const Run& run) {
  using namespace random_model_server;
  uint32_t sizes[3];  // model, input, rows
  while (read_exactly(sizes, sizeof sizes)) {
    std::vector<std::byte> file(sizes[0]), input(sizes[1]);
    if (!read_exactly(file.data(), file.size()) || !read_exactly(input.data(), input.size())) return 1;
    try {
      const random_model_answer found =
          run(std::span<const std::byte>(file), std::span<const std::byte>(input), sizes[2]);
      auto specs = nlohmann::json::array();
      for (const auto& s : found.signature.outputs)
        specs.push_back({{"name", s.name}, {"datatype", to_string(s.type)}, {"shape", s.shape}});
      answer({{"outputs", specs}}, found.outputs);
    } catch (const model_error& e) {
      answer({{"error", e.what()}});
    }
  }
  return 0;
}

}  // namespace troupe::onnx
