#include "transport/openai/models.hpp"

#include "transport/openai/json_append.hpp"

namespace troupe::openai {
namespace {

void append_model(std::string& out, const model_card& model) {
  out += R"({"id":)";
  append_quoted(out, model.id);
  out += R"(,"object":"model","created":)";
  append_number(out, model.created.time_since_epoch().count());
  out += R"(,"owned_by":"troupe","root":)";
  append_quoted(out, model.root.empty() ? model.id : model.root);
  out += R"(,"parent":)";
  if (model.parent)
    append_quoted(out, *model.parent);
  else
    out += "null";
  out += R"(,"max_model_len":)";
  if (model.max_model_len > 0)
    append_number(out, model.max_model_len);
  else
    out += "null";
  out += '}';
}

}  // namespace

std::string format_model(const model_card& model) {
  std::string out;
  append_model(out, model);
  return out;
}

std::string format_models(std::span<const model_card> models) {
  std::string out = R"({"object":"list","data":)";
  append_list(out, models, [&](const model_card& model) { append_model(out, model); });
  return out += '}';
}

}  // namespace troupe::openai
