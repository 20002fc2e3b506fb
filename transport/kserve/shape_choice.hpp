// The choice among the shapes of a model by those of a request, and the padding to the chosen one. Pure
// functions. All signatures are those of the same model at different shapes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/tensor/model_inputs.hpp"
#include "messages/tensor/tensor.hpp"
#include "transport/http/result.hpp"
#include "transport/kserve/v2.hpp"

namespace troupe {

/// An input of a request with its whole shape.
struct sent_shape {
  std::string name;
  std::vector<int64_t> dims;
};
/// Refuses inputs that `model` does not have, or that occur twice; its shapes are not looked at. A body
/// without JSON names no shapes, and is refused.
http_result<std::vector<sent_shape>> read_sent_shapes(infer_body body, const model_signature& model);

/// The signature with -1 where the signatures differ. With or without a dimension for rows, as the first one.
model_signature open_signature(std::span<const model_signature> shapes);
/// The signature of a model with free dimensions, with those of the request in the inputs.
http_result<model_signature> given_shapes(const std::vector<sent_shape>& sent, const model_signature& model);

/// The index of the signature with the shapes of the request, for any number of rows.
http_result<size_t> choose_shape(const std::vector<sent_shape>& sent,
                                 std::span<const model_signature> shapes);

/// Shapes that differ in the length of an axis.
struct padded_axis {
  size_t axis = 0;                         ///< of whole shapes
  std::span<const uint32_t> lengths;       ///< by shape; ascending
  std::span<const input_constant> inputs;  ///< that have this axis, with the value that they are padded with
};
struct padded_choice {
  size_t shape = 0;                      ///< the shortest that is long enough
  model_signature sent;                  ///< with the length of the request
  std::vector<uint32_t> padded_outputs;  ///< that depend on the length in another way, and cannot be cut
};
/// Outputs have the length of the request where they have those of the shapes in the same axis.
http_result<padded_choice> choose_length(const std::vector<sent_shape>& sent,
                                         std::span<const model_signature> shapes, const padded_axis& by);

/// An input of this type can be padded with the value: integers hold it exactly, FP16 and BF16 hold 0 only.
bool can_pad_with(data_type type, double value);

/// Writes the inputs of a request in the shapes of `sent` to `into`, in those of `runs`, with padding behind
/// them. `into` has room for `rows` rows of them. Requires: `can_pad_with` the values.
void pad_inputs(const model_signature& sent, const model_signature& runs, uint32_t rows,
                const padded_axis& by, std::span<const std::byte> inputs, std::span<std::byte> into);
/// The outputs in the shapes of `sent`, from those of `runs`; nothing if their size is another one.
std::vector<std::byte> cut_outputs(const model_signature& runs, const model_signature& sent, uint32_t rows,
                                   std::span<const std::byte> outputs);

}  // namespace troupe
