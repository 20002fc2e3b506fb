// A chat backend with a language model in this process.
#pragma once
#include <memory>

#include "tools/commands/chat.hpp"
#include "tools/commands/chat_backend.hpp"

namespace troupe {

/// Reads the checkpoint of `o.where`, and the adapter of `o.adapter`. Throws model_error with the file and
/// the fix, also if there is no chat template. `o` outlives it.
std::unique_ptr<chat_backend> make_local_chat_backend(const chat_options& o);

}  // namespace troupe
