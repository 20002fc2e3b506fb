#include "actors/llm/tokenizer_bundle.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace troupe {

std::string text_of(const tokenizer_bundle& of, llm::token t) {
  auto text = of.words->piece(t);
  return text.empty() ? of.words->decode({t}, false) : text;
}

std::string render_chat(const tokenizer_bundle& of, const nlohmann::ordered_json& messages,
                        bool add_generation_prompt, const nlohmann::ordered_json& more,
                        std::chrono::sys_days today) {
  const std::chrono::year_month_day date{today};
  auto variables = more;
  variables.update({{"messages", llm::with_contents(messages, of.chat->contents())},
                    {"add_generation_prompt", add_generation_prompt},
                    {"tools", nullptr},
                    {"documents", nullptr},
                    {"strftime_now",
                     fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()))}});
  for (const auto& [name, text] : of.special)
    if (text) variables[name] = *text;
  return of.chat->render(variables);
}

}  // namespace troupe
