#include "messages/obey.hpp"

#include "messages/parse_json.hpp"

namespace troupe {

nlohmann::json fields_of(const command& c) {
  if (c.argument.empty()) return nlohmann::json::object();
  auto fields = parse_json(c.argument);
  if (fields.is_discarded()) throw json_error(c.verb + ": its fields are not JSON, or nested too deeply");
  return fields;
}

}  // namespace troupe
