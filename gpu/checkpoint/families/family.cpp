#include "gpu/checkpoint/families/family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "gpu/checkpoint/shown_name.hpp"

namespace troupe::llm {

namespace {

constexpr std::array families{&llama_family, &mistral_family, &qwen2_family,
                              &qwen3_family, &gemma2_family,  &gemma3_family,
                              &phi3_family,  &mixtral_family, &qwen3_moe_family};

/// "llama, mistral and qwen2".
std::string names_of_families() {
  std::string all;
  for (size_t i = 0; i < families.size(); ++i) {
    if (i > 0) all += i + 1 == families.size() ? " and " : ", ";
    all += families[i]->name;
  }
  return all;
}

}  // namespace

const model_family& family_of(const json_object& config) {
  const auto name = config.text("model_type");
  for (const auto* f : families) {
    if (f->name == name) return *f;
  }
  config.fail("model_type", fmt::format("is {}: {} are supported", shown_name(name), names_of_families()));
}

bool is_family(std::string_view model_type) {
  return std::ranges::any_of(families, [&](const auto* f) { return f->name == model_type; });
}

}  // namespace troupe::llm
