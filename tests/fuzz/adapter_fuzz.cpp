// Reading any text as the configuration of a model or an adapter gives a configuration or a message. The
// input is config.json, generation_config.json, adapter_config.json and adapter_model.safetensors, with a NUL
// after each text; each text is also read by itself.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>

#include "gpu/checkpoint/adapter.hpp"
#include "gpu/checkpoint/adapter_config.hpp"
#include "gpu/checkpoint/parameter_layout.hpp"
#include "gpu/common/model_error.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

std::string_view take(std::string_view& rest) {
  const auto end = rest.find('\0');
  const auto text = rest.substr(0, end);
  rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  return text;
}

void check(const model_config& m) {
  require(m.heads % m.kv_heads == 0 && m.head_dim % 2 == 0);
  require(m.window.size() == m.layers && !m.rope.frequencies.empty());
  for (const auto* r : {&m.rope, &m.local_rope}) {
    require(r->frequencies.size() <= m.head_dim / 2 && std::isfinite(r->scale));
    require(r->long_frequencies.empty() || r->long_frequencies.size() == r->frequencies.size());
    for (const float f : r->frequencies) require(f >= 0 && f <= 100);  // LongRoPE divides by 0.01 or more
  }
  for (const token t : m.eos) require(t >= 0 && static_cast<uint32_t>(t) < m.vocabulary);
  for (const uint32_t layer : {0U, 1U, m.layers, m.layers + 1}) {
    for (const auto& p : parameters_of(m, layer)) {
      for (const uint64_t d : p.shape) require(d > 0);
    }
  }
}

std::optional<model_config> read_model(std::string_view config, std::string_view generation) {
  try {
    const auto m = parse_model_config(config, generation, "fuzz");
    check(m);
    return m;
  } catch (const model_error& e) {
    require(std::string_view(e.what()).size() < 1000);
    return std::nullopt;
  }
}

void read_adapter_alone(std::string_view config) {
  try {
    const adapter_config a(config, "fuzz");
    for (const auto* module : {"model.layers.0.self_attn.q_proj", "model.layers.11.mlp.down_proj"}) {
      const auto [rank, scale] = a.of(module);
      require(rank >= 1 && rank <= largest_rank && std::isfinite(scale));
    }
  } catch (const model_error& e) {
    require(std::string_view(e.what()).size() < 1000);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest{reinterpret_cast<const char*>(data), size};
  const auto config = take(rest), generation = take(rest), adapter_text = take(rest);
  const auto model = read_model(config, generation);
  read_adapter_alone(config);
  read_adapter_alone(adapter_text);
  if (!model) return 0;
  try {
    const auto a = parse_adapter(adapter_text, std::as_bytes(std::span{rest}), *model, "fuzz");
    for (const auto& p : a.parts) require(p.layer < model->layers && p.rank >= 1 && p.rank <= a.max_rank);
  } catch (const model_error& e) {
    require(std::string_view(e.what()).size() < 1000);
  }
  return 0;
}
