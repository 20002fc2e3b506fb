// The special tokens that chat templates name: bos_token, eos_token, pad_token, ...
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace troupe::llm {

/// Texts by name; none: the checkpoint says that it has no such token.
using special_tokens = std::map<std::string, std::optional<std::string>>;

/// Those that Transformers gives to chat templates: of tokenizer_config.json, and in folders of older
/// versions, whose tokenizer_config.json has no added_tokens_decoder, of special_tokens_map.json, which takes
/// precedence. Empty if there are no such files. Throws model_error, which names the file.
special_tokens read_special_tokens(const std::filesystem::path& folder);

}  // namespace troupe::llm
