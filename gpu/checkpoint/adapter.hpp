// A LoRA adapter in PEFT's format: adapter_config.json and adapter_model.safetensors.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/checkpoint/parameters.hpp"

namespace troupe::llm {

/// The matrices of one projection of one layer: y += scale * (x A^T) B^T.
struct adapter_part {
  uint32_t layer = 0;  ///< transformer layer, from 0
  projection target = projection::q;
  uint32_t rank = 0;  ///< 1 to 256
  float scale = 0;  ///< alpha / r, or alpha / sqrt(r) with use_rslora; rank_pattern and alpha_pattern applied
  weight_view a;    ///< [rank, in]
  weight_view b;    ///< [out, rank]
};

struct adapter {
  std::vector<adapter_part> parts;  ///< ascending by (layer, target), each at most once
  uint32_t max_rank = 0;
  std::shared_ptr<const aligned_bytes> blob;  ///< memory of the views

  /// Host memory in bytes, including the descriptions of parts.
  uint64_t bytes() const;
};

/// Version of an adapter's folder: the file system's data of its two files. Changes if a file changes.
struct adapter_version {
  struct file {
    uint64_t number = 0;  ///< inode number: changes if the file is replaced
    uint64_t bytes = 0;
    int64_t written_s = 0, written_ns = 0;
    bool operator==(const file&) const = default;
  };
  file config, weights;
  bool operator==(const adapter_version&) const = default;
};

/// Throws model_error, which names the file, if one is missing.
adapter_version version_of_adapter(const std::filesystem::path& folder);

/// Reads a folder. Throws model_error, which names file, key and fix, if it is damaged, does not fit the
/// model, or needs an unsupported feature: DoRA, modules_to_save, a bias, layer_replication, any type other
/// than LORA.
adapter read_adapter(const std::filesystem::path& folder, const model_config& model);

/// The same from a configuration's text and a safetensors file's bytes. `name`: the folder's name for
/// messages.
adapter parse_adapter(std::string_view config, std::span<const std::byte> weights, const model_config& model,
                      const std::string& name);

}  // namespace troupe::llm
