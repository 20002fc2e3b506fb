#include "transport/openai/embedding.hpp"

#include "messages/common/base64.hpp"
#include "transport/openai/base_fields.hpp"
#include "transport/openai/json_append.hpp"

namespace troupe::openai {
namespace {

constexpr size_t max_inputs = 2048;

}  // namespace

result<embedding_request> parse_embedding(std::string_view body) {
  return read_body(body, [](body_reader& in) {
    embedding_request request;
    in.read([&](const std::string& key) {
      if (key == "model") {
        request.model = in.text(key, longest_model_name);
      } else if (key == "input") {
        request.inputs = take_texts(in, key, max_inputs);
      } else if (key == "encoding_format") {
        const auto format = in.text(key, 16);
        if (format != "float" && format != "base64")
          refuse(key, "encoding_format: must be float or base64, not " + shortened(format));
        request.base64 = format == "base64";
      } else if (key == "dimensions") {
        request.dimensions = in.whole<uint32_t>(key, 1);
      } else if (key == "truncate_prompt_tokens") {
        request.truncate_tokens = in.whole<int64_t>(key, -1);
        if (request.truncate_tokens == 0) refuse(key, "truncate_prompt_tokens: must be -1 or more than 0");
      } else {
        return false;
      }
      return true;
    });
    if (!in.has("input")) refuse("input", "input: is missing");
    return request;
  });
}

std::string format_embeddings(std::span<const std::vector<float>> embeddings, std::string_view id,
                              std::string_view model, bool base64, uint64_t tokens) {
  std::string out = R"({"id":"embd-)";
  out += id;
  out += R"(","object":"list","data":)";
  size_t index = 0;
  append_list(out, embeddings, [&](const std::vector<float>& e) {
    out += R"({"index":)";
    append_number(out, index++);
    out += R"(,"object":"embedding","embedding":)";
    if (base64)
      out += '"' + to_base64(std::as_bytes(std::span{e})) + '"';
    else
      append_list(out, e, [&](float x) { append_real(out, x); });
    out += '}';
  });
  out += R"(,"model":)";
  append_quoted(out, model);
  for (const auto* key : {R"(,"usage":{"prompt_tokens":)", R"(,"total_tokens":)"}) {
    out += key;
    append_number(out, tokens);
  }
  return out += "}}";
}

}  // namespace troupe::openai
