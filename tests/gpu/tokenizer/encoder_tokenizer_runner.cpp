// Tokenizes the requests of encoder_tokenizers_test.py: the only argument is a folder with a tokenizer.json,
// every line of standard input a request, {"text", "pair": text or null, "max_tokens"}, every line of
// standard output its answer, {"ids", "types"}.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "gpu/tokenizer/encoder_tokenizer.hpp"

using namespace troupe;
using nlohmann::json;

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fputs("usage: encoder_tokenizer_runner FOLDER < requests\n", stderr);
    return 2;
  }
  const auto words = llm::read_encoder_tokenizer(argv[1]);
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = json::parse(line);
    const auto text = request.at("text").get<std::string>();
    const auto max_tokens = request.at("max_tokens").get<size_t>();
    const auto& pair = request.at("pair");
    auto tokens = words->tokens(text);
    const auto made =
        pair.is_null() ? words->encode(std::move(tokens), max_tokens)
                       : words->encode(std::move(tokens), words->tokens(pair.get<std::string>()), max_tokens);
    std::puts(json{{"ids", made.ids}, {"types", made.types}}.dump().c_str());
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
