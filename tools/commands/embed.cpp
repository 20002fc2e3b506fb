#include "tools/commands/embed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "gpu/checkpoint/encoder_config.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"
#include "gpu/device/engine_choice.hpp"
#include "gpu/encoder/encoder_inputs.hpp"
#include "gpu/tokenizer/encoder_tokenizer.hpp"
#include "messages/common/json_text.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

constexpr size_t numbers_of_line = 6;  // numbers of a line

struct embedding {
  llm::encoded_text text;
  std::span<const float> numbers;
};

void print_json(const std::string& model, std::span<const embedding> all) {
  nlohmann::ordered_json data = nlohmann::ordered_json::array();
  size_t tokens = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    data.push_back({{"index", i}, {"embedding", all[i].numbers}, {"ids", all[i].text.ids}});
    tokens += all[i].text.ids.size();
  }
  const nlohmann::ordered_json document{{"model", model},
                                        {"data", std::move(data)},
                                        {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
  fmt::print("{}\n", json_text(document, 2));
}

void print_lines(const std::vector<std::string>& texts, std::span<const embedding> all) {
  for (size_t i = 0; i < all.size(); ++i)
    fmt::print("{}: {} tokens, {} numbers: {:.6f}, ...\n", texts[i], all[i].text.ids.size(),
               all[i].numbers.size(),
               fmt::join(all[i].numbers.first(std::min(numbers_of_line, all[i].numbers.size())), ", "));
}

}  // namespace

int embed(const embed_options& options) {
  std::unique_ptr<batch_model> model;
  std::vector<llm::encoded_text> texts;
  encoder_config config;
  uint32_t tokens = 0;
  try {
    config = read_encoder_config(options.model);
    if (config.reranks())
      throw model_error(fmt::format("{}: is a classifier, which scores texts and has no embeddings of them",
                                    options.model));
    const auto words = llm::read_encoder_tokenizer(options.model);
    if (config.vocabulary > 0 && words->vocabulary() > config.vocabulary)
      throw model_error(fmt::format("{}: the tokenizer has {} tokens, and the model {}", options.model,
                                    words->vocabulary(), config.vocabulary));
    for (const auto& t : options.texts) {
      texts.push_back(words->encode(t, config.max_tokens));
      if (texts.back().ids.empty()) throw model_error(fmt::format("--text '{}': has no tokens", t));
      tokens = std::max(tokens, static_cast<uint32_t>(texts.back().ids.size()));
    }
    model_source source;
    source.path = options.model;
    source.max_batch = 1;
    source.shapes = {{"input_ids", {tokens}}};
    model = on_chosen_engine({.threads = options.threads})(source);
  } catch (const model_error& e) {
    report("{}", e.what());
    return exit_bad_input;
  } catch (const request_refused& e) {
    report("{}", e.what());
    return exit_bad_input;
  }
  const auto inputs = encoder_inputs(texts, config.padding, model->signature());
  const auto width = static_cast<size_t>(elements(model->signature().outputs.front()));
  std::vector<float> numbers(texts.size() * width);
  const batch_part part{static_cast<uint32_t>(texts.size()), inputs,
                        std::as_writable_bytes(std::span{numbers})};
  try {
    model->run(part.rows, {&part, 1}, nullptr);
  } catch (const std::exception& e) {
    report("{}", e.what());
    return exit_failed;
  }
  std::vector<embedding> all;
  for (size_t i = 0; i < texts.size(); ++i)
    all.push_back({std::move(texts[i]), std::span{numbers}.subspan(i * width, width)});
  options.json ? print_json(options.model, all) : print_lines(options.texts, all);
  return exit_done;
}

}  // namespace troupe
