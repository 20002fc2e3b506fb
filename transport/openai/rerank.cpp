#include "transport/openai/rerank.hpp"

#include <algorithm>
#include <numeric>

#include "transport/openai/base_fields.hpp"
#include "transport/openai/json_append.hpp"

namespace troupe::openai {
namespace {

constexpr size_t max_documents = 2048;

std::string take_document(body_reader& in, place at) {
  if (in.peek() == '"') return in.text(at);
  if (in.peek() != '{') in.wrong(at, "must be a string, or an object with a text");
  std::optional<std::string> text;
  in.object(at, [&](const std::string& key) {
    if (key == "text")
      text = in.text(at);
    else
      in.raw();
  });
  if (!text) refuse(at.text(), at.text() + ": has no text");
  return std::move(*text);
}

}  // namespace

result<rerank_request> parse_rerank(std::string_view body) {
  return read_body(body, [](body_reader& in) {
    rerank_request request;
    in.read([&](const std::string& key) {
      if (key == "model") {
        request.model = in.text(key, longest_model_name);
      } else if (key == "query") {
        request.query = in.text(key);
      } else if (key == "documents") {
        in.list(key, max_documents, [&](place at) { request.documents.push_back(take_document(in, at)); });
      } else if (key == "top_n") {
        request.top_n = in.whole<uint32_t>(key, 0);
      } else if (key == "return_documents") {
        request.return_documents = in.boolean(key);
      } else if (key == "truncate_prompt_tokens") {
        request.truncate_tokens = in.whole<int64_t>(key, -1);
        if (request.truncate_tokens == 0) refuse(key, "truncate_prompt_tokens: must be -1 or more than 0");
      } else {
        return false;
      }
      return true;
    });
    if (!in.has("query")) refuse("query", "query: is missing");
    if (request.documents.empty())
      refuse("documents", in.has("documents") ? "documents: must not be empty" : "documents: is missing");
    return request;
  });
}

std::string format_rerank(const rerank_request& asked, std::span<const float> scores, std::string_view id,
                          std::string_view model, uint64_t tokens) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  if (asked.top_n.value_or(0) > 0) order.resize(std::min<size_t>(order.size(), *asked.top_n));
  std::string out = R"({"id":"rerank-)";
  out += id;
  out += R"(","object":"list","model":)";
  append_quoted(out, model);
  for (const auto* key : {R"(,"usage":{"prompt_tokens":)", R"(,"total_tokens":)"}) {
    out += key;
    append_number(out, tokens);
  }
  out += R"(},"results":)";
  append_list(out, order, [&](size_t i) {
    out += R"({"index":)";
    append_number(out, i);
    if (asked.return_documents) {
      out += R"(,"document":{"text":)";
      append_quoted(out, asked.documents[i]);
      out += '}';
    }
    out += R"(,"relevance_score":)";
    append_real(out, scores[i]);
    out += '}';
  });
  return out += '}';
}

}  // namespace troupe::openai
