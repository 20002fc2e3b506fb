#include "actors/frontend/repository_api.hpp"

#include <caf/all.hpp>
#include <utility>

#include "transport/kserve/repository.hpp"

namespace troupe {
namespace {

http_response response_to(const change_reply& r) {
  if (!r.ok) return http_error_response(400, r.detail);
  if (!r.complete) return http_error_response(504, r.detail + "; the change continues");
  http_response done;
  done.body = "{}";
  return done;
}

/// Answers when the change is done everywhere and `seen` here.
template <class Change>
void ask(const repository_api::parts& parts, Change c, std::function<bool()> seen, http_reply reply) {
  auto shared = std::make_shared<http_reply>(std::move(reply));
  const auto timeout = parts.timeout + parts.decided_within + 10s;
  parts.system.spawn([shared, c = std::move(c), seen = std::move(seen), to = parts.deployments,
                      timeout](caf::event_based_actor* self) {
    // A deployer that ends does not answer; without this handler the process would wait for the timeout.
    self->set_down_handler([self, shared](const caf::down_msg&) {
      shared->send(http_error_response(503, "this node is shutting down"));
      self->quit();
    });
    self->monitor(to);
    self->request(to, timeout, c)
        .then(
            [self, shared, seen](change_reply r) {
              if (!r.ok || !r.complete || seen()) return shared->send(response_to(r));
              self->become([self, shared, seen, r, looks = 500](wake_atom) mutable {
                r.complete = seen();
                if (!r.complete && --looks > 0) return self->delayed_send(self, 10ms, wake_atom_v);
                if (!r.complete)
                  r.detail = "it is deployed, but no worker has reported it ready to this gateway";
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
  auto asked = parse_repository_load(request.body);
  if (!asked) return reply.send(http_error_response(asked.error().status, asked.error().message));
  // Workers report their slots independently of the deployment log. The answer waits for the report, so that
  // the client can use the model at once.
  auto seen = [&served = parts_.served, model] { return served(model); };
  if (!asked->config) return ask(parts_, redeploy{0, model, parts_.timeout}, seen, std::move(reply));
  if (!readers_->add(1))
    return reply.send(http_error_response(503, "other definitions are being read; try again"));
  // The definition names files, and weights are large: a thread of its own reads it, not the HTTP thread.
  auto shared = std::make_shared<http_reply>(std::move(reply));
  parts_.system.spawn<caf::detached>([parts = parts_, model, config = std::move(*asked->config), seen, shared,
                                      place = hold(readers_, 1)](caf::event_based_actor*) {
    auto read = parts.read_config(model, config);
    if (!read.problem.empty())
      return shared->send(http_error_response(400, "parameters.config: " + read.problem));
    ask(parts, deploy{0, std::move(read.definition), parts.timeout}, seen, std::move(*shared));
  });
}

void repository_api::unload(const std::string& model, http_reply reply) {
  ask(
      parts_, undeploy{0, model, parts_.timeout}, [] { return true; }, std::move(reply));
}

}  // namespace troupe
