// Tokenizes the requests of tokenizers_test.py: the only argument is a folder with a tokenizer, every line of
// standard input a request, every line of standard output its answer.
//
//   {"text", "special", "parse_special"}   {"ids"}
//   {"ids", "skip_special"}                {"text", "streamed"}: at once, and token by token
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"
#include "gpu/tokenizer/detokenizer.hpp"
#include "gpu/tokenizer/tokenizer.hpp"

using namespace troupe;
using nlohmann::json;

namespace {

std::string stream(const std::shared_ptr<const llm::tokenizer>& tokenizer, const std::vector<llm::token>& ids,
                   bool skip_special) {
  llm::detokenizer d(tokenizer, {}, skip_special);
  std::string text;
  for (const auto id : ids) text += d.add(id);
  return text + d.finish();
}

json answer(const std::shared_ptr<const llm::tokenizer>& tokenizer, const json& request) {
  if (request.contains("text"))
    return {
        {"ids", tokenizer->encode(request.at("text").get<std::string>(), request.at("special").get<bool>(),
                                  request.at("parse_special").get<bool>())}};
  const auto ids = request.at("ids").get<std::vector<llm::token>>();
  const bool skip_special = request.at("skip_special").get<bool>();
  return {{"text", tokenizer->decode(ids, skip_special)}, {"streamed", stream(tokenizer, ids, skip_special)}};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fputs("usage: tokenizer_runner FOLDER < requests\n", stderr);
    return 2;
  }
  const auto tokenizer = llm::read_tokenizer(argv[1]);
  for (std::string line; std::getline(std::cin, line);) {
    std::puts(answer(tokenizer, json::parse(line)).dump().c_str());
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
