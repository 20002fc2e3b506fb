#include "gpu/chat_template/chat_template.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gpu/chat_template/content_reader.hpp"
#include "gpu/chat_template/interpreter.hpp"
#include "gpu/chat_template/parser.hpp"
#include "gpu/common/request_refused.hpp"

namespace troupe::llm {

struct chat_template::parsed {
  jinja::source source;
  jinja::body content;
  content_format contents;
};

chat_template::chat_template(std::string_view source, const std::string& name) {
  auto s = jinja::read_source(source, name);
  auto content = jinja::parse(s);
  const auto contents = jinja::content_reader().read(content);
  parsed_ = std::make_unique<const parsed>(parsed{std::move(s), std::move(content), contents});
}

chat_template::~chat_template() = default;

content_format chat_template::contents() const { return parsed_->contents; }

std::string chat_template::render(const nlohmann::ordered_json& variables) const {
  if (!variables.is_object()) throw request_refused("the variables of a chat template must be a JSON object");
  jinja::session session;
  const auto names = std::make_shared<jinja::scope>();
  jinja::interpreter interpreter(session, names);
  try {
    for (const auto& [name, v] : variables.items()) {
      if (name != "strftime_now") {
        names->names.insert_or_assign(name, jinja::from_json(v));
      } else if (v.is_string()) {
        session.date = v.get<std::string>();
      }
    }
    return interpreter.run(parsed_->content);
  } catch (const jinja::raised& e) {
    throw request_refused(fmt::format("the model's chat template refuses the conversation: {}", e.what()));
  } catch (const jinja::refusal& e) {
    throw request_refused(fmt::format("{}: {} ({})", parsed_->source.name, e.what(),
                                      jinja::describe(parsed_->source, interpreter.at())));
  }
}

}  // namespace troupe::llm
