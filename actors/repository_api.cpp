#include "actors/repository_api.hpp"

#include <caf/all.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace troupe {
namespace {

http_response response_to(const change_reply& r) {
  if (!r.ok) return http_error_response(400, r.detail);
  if (!r.complete) return http_error_response(504, r.detail + "; it goes on");
  http_response done;
  done.body = "{}";
  return done;
}

}  // namespace

void repository_api::add_to(http_router& router) {
  router.add("POST", "/v2/repository/models/{model}/load",
             [this](http_request request, const path_parameters& at, http_reply reply) {
               load(request, at["model"], std::move(reply));
             });
  router.add("POST", "/v2/repository/models/{model}/unload",
             [this](http_request, const path_parameters& at, http_reply reply) {
               unload(at["model"], std::move(reply));
             });
}

void repository_api::load(const http_request& request, const std::string& model, http_reply reply) {
  const auto body = nlohmann::json::parse(request.body.empty() ? "{}" : request.body, nullptr, false);
  if (!body.is_object()) return reply.send(http_error_response(400, "the body is no JSON object"));
  const auto parameters = body.value("parameters", nlohmann::json::object());
  if (!parameters.is_object()) return reply.send(http_error_response(400, "parameters: must be an object"));
  for (const auto& [key, value] : parameters.items())
    if (key != "config")
      return reply.send(http_error_response(
          400,
          "parameters." + key + ": only config is known; models are loaded from the server's own files"));
  // Workers tell of their slots beside the log of deployments: who loads a model may ask for it at once.
  const auto seen = [&served = parts_.served, model] { return served(model); };
  const auto config = parameters.find("config");
  if (config == parameters.end()) return ask(redeploy{0, model, parts_.patience}, seen, std::move(reply));
  if (!config->is_string())
    return reply.send(http_error_response(400, "parameters.config: must be JSON, as text"));
  auto read = parts_.read_config(model, config->get<std::string>());
  if (!read.problem.empty())
    return reply.send(http_error_response(400, "parameters.config: " + read.problem));
  ask(deploy{0, std::move(read.definition), parts_.patience}, seen, std::move(reply));
}

void repository_api::unload(const std::string& model, http_reply reply) {
  const auto seen = [] { return true; };
  ask(undeploy{0, model, parts_.patience}, seen, std::move(reply));
}

template <class Change>
void repository_api::ask(Change c, std::function<bool()> seen, http_reply reply) {
  auto shared = std::make_shared<http_reply>(std::move(reply));
  parts_.system.spawn([shared, c = std::move(c), seen = std::move(seen), to = parts_.deployments,
                       patience = parts_.patience](caf::event_based_actor* self) {
    self->request(to, patience + 10s, c)
        .then(
            [self, shared, seen](change_reply r) {
              if (!r.ok || !r.complete || seen()) return shared->send(response_to(r));
              self->become([self, shared, seen, r, looks = 500](wake_atom) mutable {
                r.complete = seen();
                if (!r.complete && --looks > 0) return self->delayed_send(self, 10ms, wake_atom_v);
                if (!r.complete)
                  r.detail = "it is deployed, but no worker has told this gateway that it serves it";
                shared->send(response_to(r));
                self->quit();
              });
              self->send(self, wake_atom_v);
            },
            [shared](const caf::error&) {
              shared->send(http_error_response(503, "the scheduler does not answer; try again"));
            });
  });
}

}  // namespace troupe
