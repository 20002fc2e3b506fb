// A [[model]] of the cluster file that `troupe serve` stands for: an ONNX file, and how it is batched.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gpu/onnx/model_interface.hpp"
#include "messages/tensor/model_inputs.hpp"

namespace troupe {

struct served_file {
  std::string name;
  std::filesystem::path file;
  double slo_ms = 1000;
  std::optional<uint32_t> max_batch = {};  ///< none: the cluster file's default
  std::optional<bool> batched = {};        ///< none: by `choose_batching`
  std::vector<input_shape> shapes = {};    ///< of a row, or whole if not batched
  bool any_shape = false;  ///< requests have their own shapes; with `max_batch`, equal ones run together
};
inline constexpr uint32_t batch_of_any_shape = 64;  ///< `max_batch` of a file that says which dimension is it

/// Gives the inputs of the model their shapes of `--shape`, and adds the names of these to `used`. A shape
/// with all dimensions makes it a model without batches; without the first one it is the shape of a row.
/// Throws std::invalid_argument that names the flag: the file, or `batched`, says otherwise.
void give_shapes(served_file& m, const onnx::model_interface& declared, std::span<const input_shape> flags,
                 std::set<std::string>& used);

/// Sets `batched` if it is not set: rows in batches if an engine runs them, otherwise requests one by one, or
/// in any shape if dimensions are free. Returns the signature. Throws model_error if no engine runs the
/// model.
model_signature choose_batching(served_file& m);

/// Its table in the cluster file. Requires: `batched` is set.
std::string to_toml(const served_file& m);

/// "[-1,3,224,224]"
std::string shape_text(std::span<const int64_t> dims);

}  // namespace troupe
