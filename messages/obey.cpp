#include "messages/obey.hpp"

namespace troupe {

nlohmann::json fields_of(const command& c) {
  if (c.argument.empty()) return nlohmann::json::object();
  auto fields = nlohmann::json::parse(c.argument, nullptr, false);
  if (fields.is_discarded()) throw json_error(c.verb + ": its fields are not JSON");
  return fields;
}

std::string text_of(const nlohmann::json& reply) {
  return reply.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace troupe
