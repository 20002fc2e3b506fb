#include "gpu/llm/adapter_weights.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace troupe;
using namespace troupe::llm;

TEST_CASE("an adapter's second matrix is transposed on the device") {
  const std::filesystem::path folder =
      std::filesystem::path(TROUPE_FIXTURES) / "random-llms" / "llama3-gqa-tied";
  const auto model = read_model_config(folder);
  const auto file = read_adapter(folder / "adapter", model);
  for (const auto type : {element::f32, element::bf16, element::f16}) {
    const adapter_weights device(file, model.layers, type);
    CHECK(device.max_rank() == 8);
    size_t numbers = 0;
    for (const auto& p : file.parts) {
      const auto& ours = device.of(p.layer, p.target);
      CHECK(ours.rank == p.rank);
      CHECK(ours.scale == p.scale);
      const size_t in = model.in_of(p.target), out = model.out_of(p.target);
      size_t wrong = 0;
      const double error = type == element::f32 ? 0 : 1.0 / 128, min = type == element::f16 ? 0x1p-25 : 0;
      for (size_t r = 0; r < p.rank; ++r) {
        for (size_t i = 0; i < in; ++i) {
          const double theirs = element_at(p.a.bytes.data(), p.a.type, r * in + i);
          wrong += std::abs(element_at(ours.a, type, r * in + i) - theirs) > error * std::abs(theirs) + min;
        }
        for (size_t o = 0; o < out; ++o) {
          const double theirs = element_at(p.b.bytes.data(), p.b.type, o * p.rank + r);
          wrong += std::abs(element_at(ours.b, type, r * out + o) - theirs) > error * std::abs(theirs) + min;
        }
      }
      CHECK(wrong == 0);
      numbers += p.rank * (in + out);
    }
    CHECK(device.bytes() >= numbers * element_bytes(type));
  }
}

TEST_CASE("an adapter changes only the projections in its file") {
  const std::filesystem::path folder = std::filesystem::path(TROUPE_FIXTURES) / "random-llms" / "llama2-mha";
  const auto model = read_model_config(folder);
  const adapter_weights device(read_adapter(folder / "adapter", model), model.layers, element::f32);
  for (uint32_t layer = 0; layer < model.layers; ++layer) {
    CHECK(device.of(layer, projection::q).adapts());
    CHECK(device.of(layer, projection::v).adapts());
    for (const auto p : {projection::k, projection::o, projection::gate, projection::up, projection::down})
      CHECK(!device.of(layer, p).adapts());
  }
}
