// Tokenizes the requests of tokenizers_test.py: the only argument is a folder with a tokenizer, every line of
// standard input a request, every line of standard output its answer.
//
//   {"text", "special", "parse_special"}   {"ids"}
//   {"ids", "skip_special"}                {"text", "streamed"}: at once, and token by token
//
// With a second argument, a file, it encodes its text for a second instead, and prints {"ms", "tokens"}: the
// best time of one thread.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
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

json best_time(const llm::tokenizer& tokenizer, const std::string& file) {
  using clock = std::chrono::steady_clock;
  std::ifstream in(file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  auto best = clock::duration::max();
  size_t tokens = 0;
  for (const auto end = clock::now() + std::chrono::seconds(1); clock::now() < end;) {
    const auto begin = clock::now();
    tokens = tokenizer.encode(text, true, true).size();
    best = std::min(best, clock::now() - begin);
  }
  return {{"ms", std::chrono::duration<double, std::milli>(best).count()}, {"tokens", tokens}};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: tokenizer_runner FOLDER < requests\n       tokenizer_runner FOLDER TEXT\n", stderr);
    return 2;
  }
  const auto tokenizer = llm::read_tokenizer(argv[1]);
  if (argc == 3) {
    std::puts(best_time(*tokenizer, argv[2]).dump().c_str());
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    std::puts(answer(tokenizer, json::parse(line)).dump().c_str());
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
