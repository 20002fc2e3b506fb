#include "gpu/checkpoint/parameters.hpp"

#include <algorithm>
#include <cstring>

#include "gpu/checkpoint/parameter_layout.hpp"
#include "gpu/checkpoint/tensor_files.hpp"

namespace troupe::llm {

namespace {

/// The layout of a layer's blob, and the sources of its bytes.
struct mapped_layer {
  std::vector<parameter> parameters;
  std::vector<std::span<const std::byte>> sources;  ///< by parameter, in the mapping
  size_t bytes = 0;
};

}  // namespace

const parameter* layer_parameters::find(std::string_view name) const {
  const auto found = std::ranges::find(parameters, name, &parameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

weight_view layer_parameters::view(const parameter& p) const {
  size_t bytes = element_bytes(p.type);
  for (const uint64_t d : p.shape) bytes *= d;
  return {p.type, p.shape, blob->span().subspan(p.offset, bytes)};
}

layer_view layer_parameters::views() const {
  layer_view out;
  for (const auto& p : parameters) out.parameters.push_back({p.name, view(p)});
  return out;
}

const weight_view* layer_view::find(std::string_view name) const {
  const auto found = std::ranges::find(parameters, name, &named::name);
  return found == parameters.end() ? nullptr : &found->weight;
}

struct checkpoint::state {
  model_config config;
  tensor_files files;
  std::vector<mapped_layer> layers;

  explicit state(const std::filesystem::path& folder) : config(read_model_config(folder)), files(folder) {
    for (uint32_t i = 0; i < config.layers + 2; ++i) {
      auto& layer = layers.emplace_back();
      for (auto& p : parameters_of(config, i)) {
        const auto place = place_of(config, i, p);
        const auto stored = files.need(place.tensor, place.shape);
        const size_t row_bytes = stored.bytes.size() / place.shape[0];
        const auto bytes = stored.bytes.subspan(place.first * row_bytes, p.shape[0] * row_bytes);
        layer.parameters.push_back({std::move(p.name), stored.type, std::move(p.shape), layer.bytes});
        layer.sources.push_back(bytes);
        layer.bytes += (bytes.size() + 63) / 64 * 64;
      }
    }
  }
};

checkpoint::checkpoint(const std::filesystem::path& folder) : state_(std::make_unique<const state>(folder)) {}
checkpoint::~checkpoint() = default;
checkpoint::checkpoint(checkpoint&&) noexcept = default;

const model_config& checkpoint::config() const { return state_->config; }

layer_parameters checkpoint::read(uint32_t layer) const {
  const auto& mapped = state_->layers.at(layer);
  auto blob = std::make_shared<aligned_bytes>(mapped.bytes);
  std::byte* end = blob->data();
  for (const auto& source : mapped.sources) {
    const size_t gap = (64 - source.size() % 64) % 64;
    std::memcpy(end, source.data(), source.size());
    std::memset(end + source.size(), 0, gap);
    end += source.size() + gap;
  }
  return {mapped.parameters, std::move(blob)};
}

layer_view checkpoint::view(uint32_t layer) const {
  const auto& mapped = state_->layers.at(layer);
  layer_view out;
  for (size_t i = 0; i < mapped.parameters.size(); ++i) {
    const auto& p = mapped.parameters[i];
    out.parameters.push_back({p.name, {p.type, p.shape, mapped.sources[i]}});
  }
  return out;
}

}  // namespace troupe::llm
