#include "gpu/tokenizer/surrounding_tokens.hpp"

#include <fmt/format.h>

#include <utility>

#include "gpu/tokenizer/pipeline_steps.hpp"

namespace troupe::llm {

namespace {

constexpr size_t max_tokens = 1024;

class template_reader {
 public:
  explicit template_reader(const std::function<bool(token)>& is_token) : is_token_(is_token) {}

  /// Reads the tokens that a template adds, outside of those of earlier templates.
  void read(const json_place& step) {
    std::vector<token> prefix, suffix;
    bool text = false;
    const auto single = step.at("single");
    for (size_t i = 0; i < single.array().size(); ++i) {
      const auto item = single.element(i);
      if (const auto sequence = item.find("Sequence")) {
        if (text || sequence->at("id").string() != "A")
          sequence->refuse("must be the text A, once in the template");
        text = true;
        continue;
      }
      const auto ids = ids_of(step, item.at("SpecialToken").at("id"));
      auto& side = text ? suffix : prefix;
      side.insert(side.end(), ids.begin(), ids.end());
    }
    if (!text) single.refuse("has no place for the text");
    prefix.insert(prefix.end(), result_.prefix.begin(), result_.prefix.end());
    result_.suffix.insert(result_.suffix.end(), suffix.begin(), suffix.end());
    result_.prefix = std::move(prefix);
    if (result_.prefix.size() + result_.suffix.size() > max_tokens)
      step.refuse("puts too many tokens around a text");
  }

  surrounding_tokens take() { return std::move(result_); }

 private:
  std::vector<token> ids_of(const json_place& step, const json_place& name) const {
    const auto known = step.at("special_tokens").find(name.string().c_str());
    if (!known) name.refuse(fmt::format("is '{}', which special_tokens does not have", name.string()));
    const auto list = known->at("ids");
    std::vector<token> ids;
    for (size_t i = 0; i < list.array().size(); ++i) {
      const auto id = list.element(i).id();
      if (!is_token_(id)) list.element(i).refuse(fmt::format("is {}, which is not the id of a token", id));
      ids.push_back(id);
    }
    return ids;
  }

  const std::function<bool(token)>& is_token_;
  surrounding_tokens result_;
};

}  // namespace

surrounding_tokens read_surrounding_tokens(const json_place& post_processor,
                                           const std::function<bool(token)>& is_token) {
  template_reader reader(is_token);
  for (const auto& step : pipeline_steps(post_processor, "processors")) {
    if (step.type() == "ByteLevel") continue;  // changes only offsets, which are not used
    if (step.type() != "TemplateProcessing") refuse_step(step, "ByteLevel and TemplateProcessing");
    reader.read(step);
  }
  return reader.take();
}

}  // namespace troupe::llm
