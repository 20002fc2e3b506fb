#include "actors/frontend/adapter_api.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "transport/openai/error.hpp"
#include "transport/openai/lora_adapter.hpp"

namespace troupe {
namespace {

void refuse(http_reply& reply, const openai::error& why) { reply.send(openai::error_response(why)); }

}  // namespace

void adapter_api::add_to(http_router& routes) {
  routes.add("POST", "/v1/load_lora_adapter", [this](const http_request& request, auto&, http_reply reply) {
    load(request, std::move(reply));
  });
  routes.add("POST", "/v1/unload_lora_adapter", [this](const http_request& request, auto&, http_reply reply) {
    unload(request, std::move(reply));
  });
}

void adapter_api::load(const http_request& request, http_reply reply) {
  const auto asked = openai::parse_load_adapter(request.body);
  if (!asked) return refuse(reply, asked.error());
  const auto& models = cluster_.llms;
  const auto open = [](const llm_spec& m) { return m.adapter_api; };
  const auto first = std::ranges::find_if(models, open);
  if (first == models.end())
    return refuse(reply,
                  {403, "clients may not load adapters; set adapter_api = true in an [[llm]]", {}, {}});
  if (std::ranges::count_if(models, open) > 1)
    return refuse(reply, {400, "several models have adapter_api = true; set it in one [[llm]] only", {}, {}});
  if (node_.language_models().find(asked->name) || node_.models().find(asked->name))
    return refuse(
        reply,
        {400, fmt::format("lora_name: '{}' is already the name of a model", asked->name), "lora_name", {}});
  change(llm_id{static_cast<uint32_t>(first - models.begin())}, true, {asked->name, asked->path},
         std::move(reply));
}

void adapter_api::unload(const http_request& request, http_reply reply) {
  const auto name = openai::parse_unload_adapter(request.body);
  if (!name) return refuse(reply, name.error());
  const auto& catalog = node_.language_models();
  const auto known = catalog.find(*name);
  if (!known && !catalog.knows_all_adapters())
    return refuse(reply, {503, "no engine has reported its adapters yet", {}, "no_capacity"});
  if (!known || known->adapter.empty()) return refuse(reply, openai::model_not_found(*name));
  if (!cluster_.llms[known->model.value].adapter_api)
    return refuse(reply,
                  {403, "clients may not unload adapters; set adapter_api = true in the [[llm]]", {}, {}});
  change(known->model, false, {*name, {}}, std::move(reply));
}

void adapter_api::change(llm_id model, bool load, adapter_entry what, http_reply reply) {
  auto success =
      fmt::format("Success: LoRA adapter '{}' {} successfully.", what.name, load ? "added" : "removed");
  const auto token = clients_.expect_change(std::move(reply), std::move(success));
  node_.to_llm_gateway(change_adapter{token, model, load, std::move(what)});
}

}  // namespace troupe
