// A request accepted by parse_chat is within its bounds, has messages in the format of templates, and reads
// back as the same after writing. The same text is also read as a request of /tokenize, /detokenize and the
// adapters' paths.
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/openai_again.hpp"
#include "transport/openai/completion_response.hpp"
#include "transport/openai/lora_adapter.hpp"
#include "transport/openai/tokenize.hpp"

namespace {

using namespace troupe;
using namespace troupe::openai;
using json = nlohmann::ordered_json;

/// Tool arguments as text again: as objects they would be nested deeper than they came.
json again(const json& messages) {
  auto all = messages;
  for (auto& m : all)
    if (m.contains("tool_calls"))
      for (auto& call : m["tool_calls"]) {
        auto& arguments = call["function"]["arguments"];
        arguments = arguments.dump();
      }
  return all;
}

std::string again(const chat_request& r) {
  json j = shared_fields(r);
  j["messages"] = again(r.messages);
  j["add_generation_prompt"] = r.add_generation_prompt;
  j["chat_template_kwargs"] = r.template_variables;
  j["logprobs"] = r.logprobs;
  j["top_logprobs"] = r.top_logprobs;
  return j.dump();
}

/// Text, or a list of parts that are text.
void check_content(const json& content) {
  if (content.is_string()) return;
  require(content.is_array());
  for (const auto& part : content)
    require(part.size() == 2 && part.at("type") == "text" && part.at("text").is_string());
}

void check_messages(const json& messages) {
  require(messages.is_array() && !messages.empty());
  for (const auto& m : messages) {
    require(m.at("role").is_string() && !m.at("role").get_ref<const std::string&>().empty());
    check_content(m.at("content"));
    if (m.contains("tool_calls"))
      for (const auto& call : m["tool_calls"]) require(call.at("function").at("arguments").is_object());
  }
}

template <class T>
void check_other(const result<T>& r) {
  if (!r) check_refusal(r.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  check_other(parse_tokenize(body));
  check_other(parse_detokenize(body));
  check_other(parse_load_adapter(body));
  check_other(parse_unload_adapter(body));
  const auto request = parse_chat(body);
  if (!request) {
    check_refusal(request.error());
    return 0;
  }
  check_bounds(*request);
  check_messages(request->messages);
  const auto second = parse_chat(again(*request));
  require(second && *second == *request);

  const auto& content = request->messages.back()["content"];
  const auto text = content.is_string() ? content.get<std::string>() : content.dump();
  const completion_choice choice{0, text, {}, finish_reason::stop};
  std::string out;
  append_answer(out, {completion_kind::chat, request->user, {}, request->model}, std::span(&choice, 1),
                {1, 2});
  require(json::parse(out)["choices"][0]["message"]["content"] == text);
  return 0;
}
