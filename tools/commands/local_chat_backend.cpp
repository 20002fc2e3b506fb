#include "tools/commands/local_chat_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "actors/llm/tokenizer_bundle.hpp"
#include "gpu/checkpoint/parameters.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"
#include "gpu/tokenizer/detokenizer.hpp"
#include "tools/commands/sequence_generator.hpp"
#include "tools/common/token_blocks.hpp"
#include "tools/node/read_tokenizer_bundle.hpp"

namespace troupe {
namespace {

constexpr uint32_t longest_conversation = 8192;  // in tokens: a longer one takes much memory

class local_chat_backend final : public chat_backend {
 public:
  explicit local_chat_backend(const chat_options& o)
      : o_(o),
        files_(o.where),
        words_(read_tokenizer_bundle(o.where)),
        max_length_(std::min(files_.config().max_positions, longest_conversation)),
        decoder_(files_.config(),
                 {element::f32, element::f32, max_length_ / tokens_a_block + 1, tokens_a_block}),
        sequences_(decoder_, {.max_sequences = 1}) {
    if (!words_->chat_problem.empty()) throw model_error(words_->chat_problem);
    if (!words_->chat)
      throw model_error(fmt::format("{}: has no chat template; use troupe generate", o.where));
    for (uint32_t l = 0; l < files_.layers(); ++l) decoder_.load(l, files_.read(l));
    if (o.adapter.empty()) return;
    decoder_.load(llm::only_adapter, llm::read_adapter(o.adapter, files_.config()));
    sequences_.adapter_loaded(llm::only_adapter);
  }

  chat_answer answer(const nlohmann::ordered_json& messages,
                     const std::function<void(const std::string&)>& say,
                     const std::function<bool()>& interrupted) override {
    chat_answer result;
    try {
      const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
      auto request =
          request_for(render_chat(*words_, messages, true, nlohmann::ordered_json::object(), today));
      llm::detokenizer spoken(words_->words, request.prompt);
      const auto id = sequences_.add(std::move(request));
      const auto& out = sequences_.sequence(id);
      const auto emit = [&](const std::string& piece) {
        result.text += piece;
        if (!piece.empty()) say(piece);
      };
      for (size_t seen = 0; !(result.interrupted = interrupted()) && sequences_.step();)
        for (; seen < out.tokens.size(); ++seen) emit(spoken.add(out.tokens[seen]));
      emit(spoken.finish());
      if (out.failed) result.error = "the model returned no usable logits";
      sequences_.forget(id);
    } catch (const request_refused& e) {
      result.error = e.what();
    }
    return result;
  }

 private:
  llm::sequence_request request_for(const std::string& prompt) const {
    llm::sequence_request r;
    r.prompt = words_->words->encode(prompt, false, true);
    if (r.prompt.size() >= max_length_)
      throw request_refused(fmt::format("the conversation has {} tokens; at most {} are allowed",
                                        r.prompt.size(), max_length_));
    r.max_tokens = std::min(o_.max_tokens.value_or(longest_conversation),
                            max_length_ - static_cast<uint32_t>(r.prompt.size()));
    r.sampling.temperature = static_cast<float>(o_.temperature.value_or(1));
    r.sampling.seed =
        o_.seed.value_or(static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
    r.stop = words_->end_of_text;
    if (!o_.adapter.empty()) r.adapter = llm::only_adapter;
    return r;
  }

  const chat_options& o_;
  const llm::checkpoint files_;
  const std::shared_ptr<const tokenizer_bundle> words_;
  const uint32_t max_length_;
  llm::decoder decoder_;
  llm::sequence_generator sequences_;
};

}  // namespace

std::unique_ptr<chat_backend> make_local_chat_backend(const chat_options& o) {
  return std::make_unique<local_chat_backend>(o);
}

}  // namespace troupe
