#include "transport/openai/chat_messages.hpp"

#include <fmt/format.h>

#include <limits>

namespace troupe::openai {
namespace {

using json = nlohmann::ordered_json;

// A document takes many times the memory of its text.
constexpr size_t max_messages_bytes = size_t{4} << 20;
constexpr size_t any_length = std::numeric_limits<size_t>::max();
constexpr size_t longest_key = 1 << 10;

// `raw` is checked except for numbers beyond a double.
json document(const std::string& param, std::string_view raw) {
  auto j = json::parse(raw, nullptr, false);
  if (j.is_discarded()) refuse(param, param + ": has a number that is too large");
  return j;
}

std::string part_text(body_reader& in, const std::string& param) {
  std::string type, text;
  bool given = false;
  in.object(param, [&](const std::string& key) {
    if (key == "type")
      type = in.text(param + ".type");
    else if (key == "text" && in.peek() == '"')
      text = in.text(param + ".text"), given = true;
    else
      in.raw();
  });
  if (type != "text")
    refuse(param + ".type",
           fmt::format("{}.type: must be \"text\", it is {}; models read text only", param, shortened(type)));
  if (!given) refuse(param + ".text", param + ".text: must be a string");
  return text;
}

json content_of(body_reader& in, const std::string& param) {
  if (in.peek() == '"') return in.text(param);
  if (in.peek() != '[') in.wrong(param, R"(must be a string, or a list of {"type": "text", "text": ...})");
  auto parts = json::array();
  in.list(param, any_length, [&](place at) {
    parts.push_back({{"type", "text"}, {"text", part_text(in, at.text())}});
  });
  return parts;
}

// OpenAI sends them as JSON in a string, templates print them.
json arguments_of(body_reader& in, const std::string& param) {
  if (in.peek() == '{') return document(param, in.raw());
  const auto text = in.text(param);
  if (text.empty()) return json::object();
  auto parsed = read_body(text, [&](body_reader& inner) {
    if (inner.peek() != '{') inner.wrong(param, "must be an object");
    const auto raw = inner.raw();
    inner.end();
    return document(param, raw);
  });
  if (!parsed) refuse(param, param + ": must be a string with a JSON object");
  return std::move(*parsed);
}

json call_of(body_reader& in, const std::string& param) {
  json call = json::object(), function;
  in.object(param, [&](const std::string& key) {
    const auto at = param + "." + key;
    if (key == "id" || key == "type") {
      call[key] = in.text(at, longest_key);
    } else if (key == "function") {
      function = json::object();
      in.object(at, [&](const std::string& name) {
        if (name == "name")
          function[name] = in.text(at + ".name", longest_key);
        else if (name == "arguments")
          function[name] = arguments_of(in, at + ".arguments");
        else
          in.raw();
      });
    } else {
      in.raw();
    }
  });
  if (!function.contains("name") || !function.contains("arguments"))
    refuse(param + ".function", param + ".function: must be an object with name and arguments");
  call["function"] = std::move(function);
  return call;
}

json message_of(body_reader& in, const std::string& param) {
  json message = json::object();
  in.object(param, [&](const std::string& key) {
    const auto at = param + "." + key;
    if (in.take_null()) return;
    if (key == "role" || key == "name" || key == "tool_call_id") {
      message[key] = in.text(at, longest_key);
    } else if (key == "content") {
      message[key] = content_of(in, at);
    } else if (key == "tool_calls") {
      auto calls = json::array();
      in.list(at, any_length, [&](place i) { calls.push_back(call_of(in, i.text())); });
      if (!calls.empty()) message[key] = std::move(calls);
    } else {
      in.raw();
    }
  });
  if (!message.contains("role") || message["role"].get_ref<const std::string&>().empty())
    refuse(param + ".role", param + ".role: is missing");
  if (!message.contains("content")) {
    if (!message.contains("tool_calls")) refuse(param + ".content", param + ".content: is missing");
    message["content"] = "";
  }
  return message;
}

}  // namespace

json take_messages(body_reader& in) {
  const std::string name = "messages";
  if (in.peek() != '[') in.wrong(name, "must be a list of messages");
  const auto raw = in.raw();
  if (raw.size() > max_messages_bytes)
    refuse(name,
           fmt::format("messages: has {} bytes; at most {} are allowed", raw.size(), max_messages_bytes));
  body_reader inner(raw);
  auto messages = json::array();
  inner.list(name, any_length, [&](place at) { messages.push_back(message_of(inner, at.text())); });
  if (messages.empty()) refuse(name, "messages: must not be empty");
  return messages;
}

}  // namespace troupe::openai
