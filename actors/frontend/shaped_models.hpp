// shaped_models are the models with several shapes, or free dimensions, as clients see them: under one name,
// with -1 for the dimensions that differ. Thread-safe.
#pragma once
#include <string_view>
#include <vector>

#include "actors/tensor/catalog.hpp"
#include "messages/cluster/cluster.hpp"
#include "transport/kserve/v2.hpp"

namespace troupe {

class shaped_models {
 public:
  /// `models` outlives this.
  shaped_models(const cluster_spec& cluster, const catalog& models);

  /// Null: no such model. Its `slots` are the fewest of any shape; it has no tensors while a shape is
  /// loading.
  catalog::view find(std::string_view name) const;
  std::vector<catalog::view> all() const;
  /// The model of each shape of `model`; `model` itself if it is none of these.
  std::vector<catalog::view> parts_of(const catalog::view& model) const;

  struct choice {
    catalog::view runs;  ///< the model of a shape
    /// The same under the client's name, with the shapes that it sent, and gets.
    catalog::view asked;
    const padding_spec* padding = nullptr;      ///< null: both have the same shapes
    std::vector<uint32_t> padded_outputs = {};  ///< that cannot be cut back
    /// `runs` has free dimensions: inputs and outputs travel with their shapes (shaped_tensors.hpp), and the
    /// outputs of `asked` may be free.
    bool with_shapes = false;
    uint32_t rows = 0;         ///< of the request, by its shapes; 0: by its body
    uint64_t shape_class = 0;  ///< as of a `request`
  };
  /// The choice for a request to `model`, which is loaded; `model` itself if it is none of these.
  http_result<choice> choose(const catalog::view& model, const infer_body& body) const;

 private:
  /// Null: `model` is a model of its own, perhaps with the same name.
  const shaped_model_spec* spec_of(const catalog::view& model) const;
  std::vector<catalog::view> parts_of(const shaped_model_spec& spec) const;
  catalog::view whole_of(const shaped_model_spec& spec) const;

  const std::vector<shaped_model_spec> specs_;
  const std::vector<model_spec> parts_;  ///< all models of the cluster file, by id
  const catalog& models_;
};

/// Writes the inputs to `into`, as the chosen model takes them: `input_bytes_of` bytes. `files`: as for the
/// parser of the request; padded models have none.
std::optional<http_error> write_inputs(const infer_request& request, const shaped_models::choice& to,
                                       std::span<std::byte> into, const file_inputs& files);
uint64_t input_bytes_of(const infer_request& request, const shaped_models::choice& to);

}  // namespace troupe
