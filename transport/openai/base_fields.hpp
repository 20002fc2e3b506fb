// The fields that the bodies of completions and of chats share, with what both refuse.
#pragma once
#include <string>

#include "transport/openai/base_request.hpp"
#include "transport/openai/body_reader.hpp"

namespace troupe::openai {

/// Takes the value of a field that both have; false if `key` is none.
bool take_shared(base_request& request, body_reader& in, const std::string& key);

/// What only the whole body tells. Throws openai::error, as all here.
void check_shared(const base_request& request, const body_reader& in);

/// Refuses what we do not have if `key` asks for it: anything but false, 0 or something empty. False if `key`
/// is none of that.
bool take_unsupported(body_reader& in, const std::string& key);

}  // namespace troupe::openai
