#include "actors/frontend/tokenizing_route.hpp"

#include <utility>

#include "transport/openai/error.hpp"

namespace troupe {

void add_tokenizing_route(http_router& routes, std::string_view pattern, handler_pool& long_bodies,
                          handler_pool::handler handle) {
  routes.add("POST", pattern,
             [&long_bodies, handle = std::move(handle)](http_request request, auto&, http_reply reply) {
               if (long_bodies.run(request, reply, handle)) return;
               reply.send(openai::error_response(
                   {503,
                    "too many long texts wait to be tokenized (limits.http_bodies_mb); try again later",
                    {},
                    "no_capacity"}));
             });
}

}  // namespace troupe
