#include "tools/node/read_encoder_bundle.hpp"

#include <fmt/format.h>

#include "gpu/common/model_error.hpp"
#include "gpu/device/engine_choice.hpp"
#include "gpu/encoder/onnx_encoder.hpp"

namespace troupe {
namespace {

/// Of an ONNX file: numbers of an answer, and perhaps the vocabulary.
void complete(encoder_bundle& b, uint32_t max_tokens) {
  auto& e = b.config;
  auto width = onnx_encoder_width(e);
  if (width == 0) {
    model_source source;
    source.path = e.folder;
    source.max_batch = 1;
    source.shapes = {{"input_ids", {max_tokens}}};
    width = static_cast<uint32_t>(elements(signature_of(source).outputs.front()));
  }
  if (width == 0) throw model_error(fmt::format("{}: its answers have no numbers: export it again", e.onnx));
  (e.reranks() ? e.labels : e.hidden) = width;
  if (e.vocabulary == 0) e.vocabulary = b.tokenizer->vocabulary();
}

}  // namespace

encoder_bundle read_encoder_bundle(const std::filesystem::path& folder, uint32_t max_tokens) {
  encoder_bundle out{read_encoder_config(folder), llm::read_encoder_tokenizer(folder)};
  if (!out.config.onnx.empty()) complete(out, max_tokens);
  if (out.tokenizer->vocabulary() > out.config.vocabulary)
    throw model_error(
        fmt::format("{}: tokenizer.json has {} tokens, and the model {}: copy the one that "
                    "belongs to the model into it",
                    folder.string(), out.tokenizer->vocabulary(), out.config.vocabulary));
  const bool pair = out.config.reranks();
  if (pair && out.tokenizer->added(true) == 0)
    throw model_error(fmt::format("{}: tokenizer.json has no template for pairs of texts", folder.string()));
  if (out.tokenizer->added(pair) + 2 > max_tokens)
    throw model_error(
        fmt::format("{}: {} tokens have no place for words beside the {} that the tokenizer adds; "
                    "give larger lengths",
                    folder.string(), max_tokens, out.tokenizer->added(pair)));
  return out;
}

}  // namespace troupe
