#include "actors/http_api.hpp"

#include <caf/all.hpp>
#include <nlohmann/json.hpp>

#include "messages/version.hpp"

namespace troupe {
namespace {

/// What a drop or failure says to an HTTP client. 429 and 503 invite to come again, 504 does not.
http_response refusal_response(const outcome& how) {
  unsigned status = 500;
  std::string reason, text;
  if (how.kind == outcome::fate::dropped) {
    reason = to_string(how.reason);
    switch (how.reason) {
      case drop_reason::late:
        status = 503, text = "it could not have been answered by its deadline any more";
        break;
      case drop_reason::shed: status = 503, text = "it was shed so that others meet their deadlines"; break;
      case drop_reason::queue_full: status = 429, text = "too many requests wait already"; break;
      case drop_reason::no_capacity: status = 503, text = "no worker serves the model at the moment"; break;
      case drop_reason::undeployed: status = 404, text = "the model is served no more"; break;
      case drop_reason::quota: status = 429, text = "its tenant has reached its limit"; break;
      case drop_reason::draining: status = 503, text = "the server is shutting down"; break;
      default: status = 499, text = "cancelled";
    }
    text = "request dropped: " + text;
  } else {
    reason = to_string(how.error);
    const bool its_own = how.error == failure::device_error || how.error == failure::poison;
    status = how.error == failure::timeout ? 504 : its_own ? 500 : 503;
    text = how.error == failure::poison
               ? "two workers died of it, the second while it ran alone; do not send it again"
           : how.detail.empty() ? reason
                                : std::string(how.detail);
    text = "request failed: " + text;
  }
  http_response r;
  r.status = status;
  if (status == 429 || status == 503) r.headers.add("Retry-After", "1");
  r.body = nlohmann::json{{"error", text}, {"reason", reason}}.dump();
  return r;
}

}  // namespace

void http_clients::expect(request_id id, waiting w) {
  auto& s = of(id);
  std::lock_guard lock(s.mutex);
  s.open.emplace(id, std::move(w));
}

void http_clients::answer(request_id id, const outcome& how) {
  auto& s = of(id);
  std::unique_lock lock(s.mutex);
  auto node = s.open.extract(id);
  lock.unlock();
  if (node.empty()) return;
  auto& w = node.mapped();
  if (how.kind != outcome::fate::finished) return w.reply.send(refusal_response(how));
  auto body = format_infer(w.model, w.asked, *w.signature, how.output, how.batch_rows);
  if (!body) return w.reply.send(http_error_response(body.error().status, body.error().message));
  http_response r;
  r.body = std::move(*body);
  w.reply.send(std::move(r));
}

http_api::http_api(parts p) : parts_(std::move(p)) {
  const auto get = [this](const char* pattern, http_router::route_handler handler) {
    router_.add("GET", pattern, std::move(handler));
  };
  const auto text = [](http_reply& reply, bool good) {
    http_response r;
    r.status = good ? 200 : 503;
    r.body = good ? R"({"status":"ok"})" : R"({"error":"not ready"})";
    reply.send(std::move(r));
  };
  get("/v2", [](auto, auto&, http_reply reply) {
    http_response r;
    r.body = format_server_metadata(version);
    reply.send(std::move(r));
  });
  get("/v2/health/live", [text](auto, auto&, http_reply reply) { text(reply, true); });
  for (const char* path : {"/v2/health/ready", "/health"})
    get(path, [this, text](auto, auto&, http_reply reply) { text(reply, parts_.ready()); });
  get("/v2/models", [this](auto, auto&, http_reply reply) { list(std::move(reply)); });
  for (const char* path : {"/v2/models/{model}", "/v2/models/{model}/versions/{version}"}) {
    get(path, [this](auto, auto& at, http_reply reply) { describe(at, std::move(reply)); });
    get((std::string(path) + "/ready").c_str(),
        [this](auto, auto& at, http_reply reply) { model_ready(at, std::move(reply)); });
    router_.add("POST", std::string(path) + "/infer",
                [this](http_request request, auto& at, http_reply reply) {
                  infer(std::move(request), at, std::move(reply));
                });
  }
  get("/metrics", [this](auto, auto&, http_reply reply) { scrape(std::move(reply)); });
}

std::optional<catalog::entry> http_api::find(const path_parameters& path, http_reply& reply) const {
  const auto& name = path["model"];
  auto e = parts_.cast.models().find(name);
  const auto& wanted = path["version"];
  if (e && (wanted.empty() || wanted == "1")) return e;
  std::string message = e ? "model '" + name + "' has no version '" + wanted + "', only '1'"
                          : "unknown model '" + name + "'; GET /v2/models lists the models";
  reply.send(http_error_response(404, message));
  return {};
}

void http_api::infer(http_request request, const path_parameters& path, http_reply reply) {
  const auto arrival = parts_.time.now();
  auto model = find(path, reply);
  if (!model) return;
  if (model->slots == 0)
    return reply.send(
        refusal_response({outcome::fate::dropped, drop_reason::no_capacity, failure::none, {}, 0, {}}));
  auto asked = parse_infer(request.body, model->signature, model->max_batch);
  if (!asked) return reply.send(http_error_response(asked.error().status, asked.error().message));
  auto room = parts_.cast.pool().take(input_row_bytes(model->signature) * asked->rows);
  if (!room)
    return reply.send(
        refusal_response({outcome::fate::dropped, drop_reason::queue_full, failure::none, {}, 0, {}}));
  if (auto bad = write_inputs(*asked, model->signature, room->payload)) {
    parts_.cast.pool().give_back(room->region);
    return reply.send(http_error_response(bad->status, bad->message));
  }

  troupe::request r;
  r.id = parts_.cast.next_request_id();
  r.model = model->model;
  r.rows = asked->rows;
  r.arrival = arrival;
  const auto slo = asked->slo_ms ? std::min(model->slo, from_ms(*asked->slo_ms)) : model->slo;
  r.deadline = arrival + slo;
  r.input = room->region;

  auto& office = parts_.cast.office();
  const auto gateway = parts_.cast.gateway_address();
  reply.on_cancel([&office, gateway, id = r.id] { office.tell(gateway, client_gone{id}); });
  asked->data.clear();
  parts_.clients.expect(r.id, {std::move(reply),
                               {model->name, "1"},
                               std::move(*asked),
                               std::make_shared<const model_signature>(std::move(model->signature))});
  office.tell(gateway, client_request{r});
}

void http_api::describe(const path_parameters& path, http_reply reply) const {
  const auto model = find(path, reply);
  if (!model) return;
  if (model->signature.inputs.empty())
    return reply.send(http_error_response(503, "model '" + model->name + "' is still loading"));
  http_response r;
  r.body = format_model_metadata({model->name, "1"}, "troupe_onnx", model->signature,
                                 {to_ms(model->slo), model->max_batch});
  reply.send(std::move(r));
}

void http_api::model_ready(const path_parameters& path, http_reply reply) const {
  const auto model = find(path, reply);
  if (!model) return;
  if (model->slots == 0)
    return reply.send(http_error_response(503, "model '" + model->name + "' has no worker at the moment"));
  http_response r;
  r.body = nlohmann::json{{"name", model->name}, {"ready", true}}.dump();
  reply.send(std::move(r));
}

void http_api::list(http_reply reply) const {
  auto models = nlohmann::json::array();
  for (const auto& m : parts_.cast.models().all())
    models.push_back({{"name", m.name}, {"ready", m.slots > 0}});
  http_response r;
  r.body = nlohmann::json{{"models", std::move(models)}}.dump();
  reply.send(std::move(r));
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
