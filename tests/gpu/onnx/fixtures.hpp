// The golden models in tests/fixtures/onnx, with their inputs and outputs.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/model.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe::onnx {

inline const std::vector<std::string> fixture_names{"encoder",   "inception", "mlp",
                                                    "mobilenet", "resnet_a",  "resnet_b"};

std::string fixture_path(const std::string& name, const std::string& suffix = ".onnx");
std::vector<std::byte> read_bytes(const std::string& path);

struct fixture {
  explicit fixture(const std::string& name);

  /// The first `count` rows, repeated from the start if there are fewer.
  std::vector<std::byte> input_rows(uint32_t count) const;
  std::vector<float> output_rows(uint32_t count) const;

  std::shared_ptr<const model> loaded;
  std::vector<std::byte> input, output;
  size_t input_row = 0, output_row = 0;  ///< bytes
  uint32_t rows = 0;
};

std::vector<float> run_rows(executor& e, const fixture& f, uint32_t rows);

/// |a - b| / |b|, in the L2 norm.
double relative_l2(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace troupe::onnx
