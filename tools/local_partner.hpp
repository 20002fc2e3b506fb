// A language model in this process, as partner of a conversation.
#pragma once
#include <memory>

#include "tools/chat.hpp"
#include "tools/chat_partner.hpp"

namespace troupe {

/// Reads the checkpoint of `o.where`, and the adapter of `o.adapter`. Throws model_error, naming the file and
/// the fix: also if there is no chat template. `o` outlives it.
std::unique_ptr<chat_partner> make_local_partner(const chat_options& o);

}  // namespace troupe
