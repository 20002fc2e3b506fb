// Renders chat templates: reads lines of JSON, writes a line for each, or {"error", "kind"} with the kind
// `template` or `request`.
//
//   template_runner           {"template", "variables"}   {"text"}          for jinja2_test.py
//   template_runner FOLDER    {"variables"}               {"text", "ids"}   for family_templates_test.py
//
// A folder has a template, special tokens and a tokenizer.
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "gpu/chat_template/chat_template.hpp"
#include "gpu/chat_template/special_tokens.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"
#include "gpu/tokenizer/tokenizer.hpp"

using namespace troupe;
using json = nlohmann::ordered_json;

namespace {

struct model {
  std::shared_ptr<const llm::chat_template> chat;
  std::shared_ptr<const llm::tokenizer> words;
  llm::special_tokens special;

  explicit model(const char* folder)
      : chat(llm::read_chat_template(folder)),
        words(llm::read_tokenizer(folder)),
        special(llm::read_special_tokens(folder)) {
    if (!chat) throw model_error(std::string(folder) + ": has no chat template");
  }

  json answer(const json& request) const {
    auto variables = json::object();
    for (const auto& [name, text] : special)
      if (text) variables[name] = *text;
    variables.update(request.at("variables"));
    const auto text = chat->render(variables);
    return {{"text", text}, {"ids", words->encode(text, false, true)}};
  }
};

json render(const json& request) {
  const llm::chat_template t(request.at("template").get<std::string>(), "test.jinja");
  return {{"text", t.render(request.at("variables"))}};
}

template <class Answer>
json answer_or_error(Answer answer) {
  try {
    return answer();
  } catch (const model_error& e) {
    return {{"error", e.what()}, {"kind", "template"}};
  } catch (const request_refused& e) {
    return {{"error", e.what()}, {"kind", "request"}};
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const auto m = argc > 1 ? std::make_unique<const model>(argv[1]) : nullptr;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer_or_error([&] {
                   return m ? m->answer(json::parse(line)) : render(json::parse(line));
                 }).dump()
              << std::endl;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
