#include "gpu/tokenizer/pipeline_steps.hpp"

#include <fmt/format.h>

namespace troupe::llm {

namespace {

constexpr size_t max_steps = 32;

void append_steps(const json_place& place, const char* list, std::vector<json_place>& to) {
  if (place.type() != "Sequence") {
    if (to.size() == max_steps)
      place.refuse(fmt::format("is one step more than the {} supported", max_steps));
    to.push_back(place);
    return;
  }
  const auto members = place.at(list);
  for (size_t i = 0; i < members.array().size(); ++i) append_steps(members.element(i), list, to);
}

}  // namespace

std::vector<json_place> pipeline_steps(const json_place& place, const char* list) {
  std::vector<json_place> steps;
  append_steps(place, list, steps);
  return steps;
}

void refuse_step(const json_place& step, std::string_view supported) {
  step.at("type").refuse(
      fmt::format("is '{}', which is not supported; supported: {}", step.type(), supported));
}

}  // namespace troupe::llm
