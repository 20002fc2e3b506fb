#include "transport/openai/lora_adapter.hpp"

#include <algorithm>

#include "transport/openai/body_reader.hpp"

namespace troupe::openai {
namespace {

constexpr size_t longest_adapter_name = 256, longest_path = 4096;

std::string take_line(body_reader& in, const std::string& key, size_t longest) {
  auto line = in.text(key, longest);
  if (line.empty()) refuse(key, key + ": must not be empty");
  if (std::ranges::any_of(line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    refuse(key, key + ": must not have control characters");
  return line;
}

// The name appears in logs, and in a metric label that is a comma-separated list.
std::string take_name(body_reader& in, const std::string& key) {
  auto name = take_line(in, key, longest_adapter_name);
  if (name.find(',') != name.npos) refuse(key, key + ": must not have a comma");
  return name;
}

void require(const body_reader& in, const char* key) {
  if (!in.has(key)) refuse(key, std::string(key) + ": is missing");
}

}  // namespace

result<load_adapter> parse_load_adapter(std::string_view body) {
  return read_body(body, [](body_reader& in) {
    load_adapter request;
    in.read([&](const std::string& key) {
      if (key == "lora_name")
        request.name = take_name(in, key);
      else if (key == "lora_path")
        request.path = take_line(in, key, longest_path);
      else
        return false;
      return true;
    });
    require(in, "lora_name");
    require(in, "lora_path");
    return request;
  });
}

result<std::string> parse_unload_adapter(std::string_view body) {
  return read_body(body, [](body_reader& in) {
    std::string name;
    in.read([&](const std::string& key) {
      if (key != "lora_name") return false;
      name = take_name(in, key);
      return true;
    });
    require(in, "lora_name");
    return name;
  });
}

}  // namespace troupe::openai
