#include "actors/frontend/http_api.hpp"

#include <algorithm>
#include <caf/all.hpp>
#include <iterator>
#include <new>
#include <nlohmann/json.hpp>

#include "actors/frontend/image_inputs.hpp"
#include "actors/frontend/kserve_documents.hpp"
#include "actors/frontend/pool_lease.hpp"
#include "actors/frontend/request_timing.hpp"
#include "actors/runtime/direct_turns.hpp"
#include "messages/common/json_text.hpp"
#include "messages/common/version.hpp"
#include "transport/kserve/repository.hpp"
#include "transport/openai/error.hpp"

namespace troupe {
namespace {

/// Not compressed: clients of KServe's protocol inflate only answers of inference.
http_response management_answer(std::string body) {
  http_response r;
  r.body = std::move(body);
  r.compressible = false;
  return r;
}

}  // namespace

http_api::http_api(parts p) : parts_(std::move(p)), authorisation_(parts_.cluster) {
  router_.set_guard(&authorisation_);
  router_.set_path_refusal(openai::path_error);
  add_models();  // the most frequent routes first
  add_health();
  add_repository();
}

void http_api::add_models() {
  for (const std::string path : {"/v2/models/{model}", "/v2/models/{model}/versions/{version}"}) {
    router_.add("POST", path + "/infer", [this](http_request request, auto& at, http_reply reply) {
      infer(std::move(request), at, std::move(reply));
    });
    router_.add("GET", path + "/ready",
                [this](auto, auto& at, http_reply reply) { model_ready(at, std::move(reply)); });
    router_.add("GET", path + "/config",
                [this](auto, auto& at, http_reply reply) { configure(at, std::move(reply)); });
    router_.add("GET", path + "/stats", [this](auto, auto& at, http_reply reply) {
      if (auto model = find(at, reply)) send_statistics(shaped_.parts_of(model), std::move(reply));
    });
  }
  router_.add("GET", "/v2/models/stats", [this](auto, auto&, http_reply reply) {
    send_statistics(parts_.node.models().all(), std::move(reply));
  });
  for (const char* path : {"/v2/models/{model}", "/v2/models/{model}/versions/{version}"})
    router_.add("GET", path, [this](auto, auto& at, http_reply reply) { describe(at, std::move(reply)); });
  router_.add("GET", "/v2/models", [this](const http_request& request, auto&, http_reply reply) {
    list(request.tenant, std::move(reply));
  });
}

void http_api::add_health() {
  const auto say = [](http_reply& reply, bool good) {
    if (!good) return reply.send(http_error_response(503, "not ready"));
    reply.send({.headers = {}, .body = R"({"status":"ok"})"});
  };
  router_.add("GET", "/v2", [](auto, auto&, http_reply reply) {
    reply.send({.headers = {}, .body = format_server_metadata(version)});
  });
  router_.add("GET", "/v2/health/live", [say](auto, auto&, http_reply reply) { say(reply, true); });
  for (const char* path : {"/v2/health/ready", "/health"})
    router_.add("GET", path, [this, say](auto, auto&, http_reply reply) { say(reply, parts_.ready()); });
  router_.add("GET", "/metrics", [this](auto, auto&, http_reply reply) { scrape(std::move(reply)); });
}

void http_api::add_repository() {
  router_.add("POST", "/v2/repository/index",
              [this](http_request request, auto&, http_reply reply) { index(request, std::move(reply)); });
  const auto refuse = [](auto, auto&, http_reply reply) {
    reply.send(http_error_response(501, "shared memory is not supported; send tensors in the body"));
  };
  for (const std::string path : {"/v2/systemsharedmemory", "/v2/cudasharedmemory"}) {
    for (const char* get : {"/status", "/region/{region}/status"}) router_.add("GET", path + get, refuse);
    for (const char* post : {"/region/{region}/register", "/region/{region}/unregister", "/unregister"})
      router_.add("POST", path + post, refuse);
  }
}

catalog::view http_api::find(const path_parameters& path, http_reply& reply) const {
  const auto& name = path["model"];
  auto e = parts_.node.models().find(name);
  if (!e) e = shaped_.find(name);
  const auto& wanted = path["version"];
  if (e && (wanted.empty() || wanted == "1")) return e;
  std::string message = e ? "model '" + name + "' has no version '" + wanted + "', only '1'"
                          : "unknown model '" + name + "'; GET /v2/models lists the models";
  reply.send(http_error_response(404, message));
  return {};
}

void http_api::infer(http_request request, const path_parameters& path, http_reply reply) {
  const auto arrival = parts_.time.now();
  const auto refuse = [&](const http_error& why) {
    reply.send(http_error_response(why.status, why.message));
  };
  const auto drop = [&](drop_reason why) {
    reply.send(refusal_response({outcome_kind::dropped, why, failure::none, {}, 0, {}}));
  };
  // The model's queue decides whether a worker has it: while a model moves, reports of two workers may arrive
  // here in another order than there.
  auto model = find_loaded(path, reply);
  if (!model) return;
  // The gateway has the same bound; here it also covers requests on their way to it.
  if (parts_.clients.waiting_now() >= parts_.cluster.limits.requests_in_flight)
    return drop(drop_reason::queue_full);
  const auto body = split_infer_body(request.body, request.headers.find("Inference-Header-Content-Length"));
  if (!body) return refuse(body.error());
  const auto chosen = shaped_.choose(model, *body);
  if (!chosen) return refuse(chosen.error());
  image_inputs files(*chosen->asked);
  auto asked = parse_infer(*body, chosen->asked->signature, chosen->asked->max_batch, &files);
  if (!asked) return refuse(asked.error());
  const auto bytes = input_bytes_of(*asked, *chosen);
  if (const auto pool_bytes = parts_.cluster.limits.pool_bytes; bytes > pool_bytes / 2)
    return refuse({413, "the inputs take " + std::to_string(bytes) +
                            " bytes, more than half of limits.pool_mb = " + std::to_string(pool_bytes >> 20) +
                            "; send fewer rows, or raise it"});
  const auto deadline = arrival + std::min(model->slo, asked->timeout.value_or(model->slo));
  auto room = parts_.node.pool().take(bytes);
  if (!room) return drop(drop_reason::queue_full);
  pool_lease lease(parts_.node.pool(), *room);
  files.stop_at(parts_.time, deadline);
  try {
    const auto bad = write_inputs(*asked, *chosen, lease.held().payload, files);
    if (files.late()) return drop(drop_reason::late);
    if (bad) return refuse(*bad);
  } catch (const std::bad_alloc&) {
    return refuse({503, "the gateway has no memory for the inputs now; send smaller ones, or try again"});
  }

  troupe::request r;
  r.id = parts_.node.next_request_id();
  r.model = chosen->runs->model;
  r.rows = chosen->rows > 0 ? chosen->rows : asked->rows;
  r.shape_class = chosen->shape_class;
  r.tenant = request.tenant;
  r.arrival = arrival;
  r.deadline = deadline;
  r.input = lease.take_over();

  auto& node = parts_.node;
  reply.on_cancel([&node, id = r.id] { node.to_gateway(client_gone{id}); });
  asked->inputs.clear();
  parts_.clients.expect(r.id, {.reply = std::move(reply),
                               .model = chosen->asked,
                               .asked = std::move(*asked),
                               .parsed_at = parts_.time.now(),
                               .timed = request.headers.find(timing_request_header).has_value(),
                               .padded = chosen->padding != nullptr ? chosen->runs : nullptr,
                               .with_shapes = chosen->with_shapes,
                               .rows = chosen->rows});
  const direct_turns here;
  node.to_gateway(client_request{r});
}

std::vector<catalog::view> http_api::all_models() const {
  auto out = parts_.node.models().all();
  std::ranges::move(shaped_.all(), std::back_inserter(out));
  return out;
}

catalog::view http_api::find_loaded(const path_parameters& path, http_reply& reply) const {
  auto model = find(path, reply);
  if (!model || !model->signature.inputs.empty()) return model;
  reply.send(http_error_response(503, "model '" + model->name + "' is still loading"));
  return {};
}

void http_api::describe(const path_parameters& path, http_reply reply) const {
  const auto model = find_loaded(path, reply);
  if (!model) return;
  reply.send(management_answer(format_model_metadata({model->name, "1"}, "troupe_onnx",
                                                     signature_for_clients(*model),
                                                     {to_ms(model->slo), model->max_batch})));
}

void http_api::configure(const path_parameters& path, http_reply reply) const {
  if (const auto model = find_loaded(path, reply)) reply.send(management_answer(format_model_config(*model)));
}

void http_api::model_ready(const path_parameters& path, http_reply reply) const {
  const auto model = find(path, reply);
  if (!model) return;
  if (model->slots == 0)
    return reply.send(http_error_response(503, "model '" + model->name + "' has no worker now"));
  http_response r;
  r.body = json_text(nlohmann::json{{"name", model->name}, {"ready", true}});
  reply.send(std::move(r));
}

void http_api::list(uint32_t tenant, http_reply reply) const {
  auto models = nlohmann::json::array();
  for (const auto& m : all_models())
    if (authorisation_.may_see(tenant, m->name))
      models.push_back({{"name", m->name}, {"ready", m->slots > 0}});
  reply.send(management_answer(json_text(nlohmann::json{{"models", std::move(models)}})));
}

void http_api::index(const http_request& request, http_reply reply) const {
  const auto ready_only = parse_repository_index(request.body);
  if (!ready_only)
    return reply.send(http_error_response(ready_only.error().status, ready_only.error().message));
  const auto closed = parts_.node.models().closed();
  reply.send(management_answer(format_repository_index(all_models(), closed, *ready_only)));
}

void http_api::send_statistics(const std::vector<catalog::view>& models, http_reply reply) const {
  std::vector<std::pair<std::string, model_statistics>> list;
  for (const auto& m : models) list.emplace_back(m->name, parts_.clients.statistics().of(m->model));
  const auto unix_epoch = parts_.time.now() - parts_.unix_time();
  reply.send(management_answer(format_statistics(list, unix_epoch)));
}

void http_api::scrape(http_reply reply) {
  auto shared = std::make_shared<http_reply>(std::move(reply));
  caf::anon_send(parts_.metrics, report_query{[shared](group_report r) {
                   http_response out;
                   out.content_type = "text/plain; version=0.0.4";
                   out.body = to_prometheus(r.metrics);
                   shared->send(std::move(out));
                 }});
}

}  // namespace troupe
