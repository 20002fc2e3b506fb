// Fields shared by the bodies of completions and chats, and the unsupported fields that both refuse.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "transport/openai/base_request.hpp"
#include "transport/openai/body_reader.hpp"

namespace troupe::openai {

inline constexpr size_t longest_model_name = 1 << 10;  ///< in bytes

/// Takes the value of a shared field; false if `key` is not one.
bool take_shared(base_request& request, body_reader& in, const std::string& key);

/// A text, its tokens, or a list of either with at most `max` elements; the first element decides. None is
/// empty of tokens.
std::vector<prompt> take_texts(body_reader& in, const std::string& key, size_t max);

/// Checks that need the whole body. Throws openai::error, as all here.
void check_shared(const base_request& request, const body_reader& in);

/// Refuses an unsupported feature if `key` requests it with a value other than false, 0 or an empty one.
/// False if `key` is not an unsupported feature.
bool take_unsupported(body_reader& in, const std::string& key);

}  // namespace troupe::openai
