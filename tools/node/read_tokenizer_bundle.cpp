#include "tools/node/read_tokenizer_bundle.hpp"

#include <algorithm>

#include "gpu/checkpoint/model_config.hpp"

namespace troupe {

std::shared_ptr<const tokenizer_bundle> read_tokenizer_bundle(const std::filesystem::path& folder) {
  auto l = std::make_shared<tokenizer_bundle>();
  const auto config = llm::read_model_config(folder);
  l->words = llm::read_tokenizer(folder);
  try {
    l->chat = llm::read_chat_template(folder);
  } catch (const llm::template_error& e) {
    l->chat_problem = e.what();
  }
  const auto text_of = [&](llm::token t) { return l->words->decode({t}, false); };
  l->special = llm::read_special_tokens(folder);
  if (config.bos) l->special.try_emplace("bos_token", text_of(*config.bos));
  if (!config.eos.empty()) l->special.try_emplace("eos_token", text_of(config.eos.front()));
  l->end_of_text = config.eos;
  for (uint32_t t = 0; t < l->words->vocabulary(); ++t)
    l->longest_token = std::max(l->longest_token, text_of(static_cast<llm::token>(t)).size());
  return l;
}

}  // namespace troupe
