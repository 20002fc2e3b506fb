// Routes whose handlers tokenize text: requests with long bodies are handled on threads of their own.
#pragma once
#include <string_view>

#include "transport/http/handler_pool.hpp"
#include "transport/http/router.hpp"

namespace troupe {

/// Adds a POST route. `long_bodies` handles requests that are long, and `handle` all others at once; beyond
/// the bound of the pool they are answered 503 in OpenAI's form. `long_bodies` outlives the routes.
void add_tokenizing_route(http_router& routes, std::string_view pattern, handler_pool& long_bodies,
                          handler_pool::handler handle);

}  // namespace troupe
