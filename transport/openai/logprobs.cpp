#include "transport/openai/logprobs.hpp"

#include <vector>

#include "transport/openai/json_append.hpp"

namespace troupe::openai {
namespace {

// The members of an object, each key once.
class logprob_members {
 public:
  explicit logprob_members(std::string& out) : out_(out) {}
  void add(const token_alternative& t) {
    const auto before = out_.size();
    if (!keys_.empty()) out_ += ',';
    const auto begin = out_.size();
    append_quoted(out_, t.text);
    const auto key = std::string_view(out_).substr(begin);
    for (const auto& [at, size] : keys_)
      if (std::string_view(out_).substr(at, size) == key) return out_.resize(before);
    keys_.emplace_back(begin, key.size());
    out_ += ':';
    append_logprob(out_, t.logprob);
  }

 private:
  std::string& out_;
  std::vector<std::pair<size_t, size_t>> keys_;  // where in `out_`
};

// "token": ..., "logprob": ..., "bytes": [...], without the brackets
void append_token(std::string& out, const token_alternative& t) {
  out += R"("token":)";
  append_quoted(out, t.text);
  out += R"(,"logprob":)";
  append_logprob(out, t.logprob);
  out += R"(,"bytes":)";
  append_list(out, t.bytes, [&](char c) { append_number(out, int{static_cast<unsigned char>(c)}); });
}

}  // namespace

void append_completion_logprobs(std::string& out, std::span<const token_report> tokens) {
  out += R"({"tokens":)";
  append_list(out, tokens, [&](const token_report& t) { append_quoted(out, t.chosen.text); });
  out += R"(,"token_logprobs":)";
  append_list(out, tokens, [&](const token_report& t) { append_logprob(out, t.chosen.logprob); });
  out += R"(,"top_logprobs":)";
  append_list(out, tokens, [&](const token_report& t) {
    out += '{';
    logprob_members members(out);
    for (const auto& other : t.top) members.add(other);
    members.add(t.chosen);
    out += '}';
  });
  out += R"(,"text_offset":)";
  append_list(out, tokens, [&](const token_report& t) { append_number(out, t.text_offset); });
  out += '}';
}

void append_chat_logprobs(std::string& out, std::span<const token_report> tokens) {
  out += R"({"content":)";
  append_list(out, tokens, [&](const token_report& t) {
    out += '{';
    append_token(out, t.chosen);
    out += R"(,"top_logprobs":)";
    append_list(out, t.top, [&](const token_alternative& other) {
      out += '{';
      append_token(out, other);
      out += '}';
    });
    out += '}';
  });
  out += R"(,"refusal":null})";
}

}  // namespace troupe::openai
