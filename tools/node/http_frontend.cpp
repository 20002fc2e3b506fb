#include "tools/node/http_frontend.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "config/cluster_file.hpp"
#include "config/security.hpp"
#include "tools/node/http_options.hpp"
#include "tools/node/llm_device_pool.hpp"
#include "tools/node/read_encoder_bundle.hpp"

namespace troupe {
namespace {

duration unix_time() { return std::chrono::system_clock::now().time_since_epoch(); }

/// Reads a model definition of a client; it may name only files below the cluster's model directory.
repository_api::reading read_config(const std::string& name, const std::string& json,
                                    const cluster_spec& cluster) {
  if (cluster.model_directory.empty())
    return {{}, "models cannot be loaded by their definition: the cluster file has no [models] directory"};
  try {
    const auto text = model_text_of_json(json, name);
    const auto reading =
        read_model_text(text, "config", cluster, cluster.model_directory, cluster.model_directory);
    if (!reading.ok()) return {{}, reading.problems.front().text};
    if (reading.spec.name != name) return {{}, "name: differs from the name in the URL"};
    return {to_toml(reading.effective), {}};
  } catch (const std::runtime_error& e) {
    return {{}, e.what()};
  }
}

}  // namespace

void http_frontend::open(const parts& p) {
  api_ =
      std::make_unique<http_api>(http_api::parts{p.cluster, p.time, p.node, p.clients, p.metrics,
                                                 [&node = p.node, &process = p.process] {
                                                   return node.models().serving() &&
                                                          node.language_models().every_model_was_served() &&
                                                          !process.draining();
                                                 },
                                                 unix_time});
  add_repository(p);
  if (!p.cluster.llms.empty() || !p.cluster.encoders.empty()) {
    long_bodies_ = std::make_unique<handler_pool>(handler_pool_options(p.cluster.limits));
    add_completions(p);
  }
  if (!p.cluster.encoders.empty()) add_encoders(p);
  add_ui(p);
  server_ = std::make_unique<http_server>(http_options(p.cluster.nodes[p.self.value], p.cluster.limits),
                                          api_->handler());
  listening_ = server_.get();
}

void http_frontend::add_repository(const parts& p) {
  repository_ = std::make_unique<repository_api>(
      repository_api::parts{p.system, p.deployments,
                            [&cluster = p.cluster](const std::string& name, const std::string& json) {
                              return read_config(name, json, cluster);
                            },
                            [&node = p.node](const std::string& name) {
                              const auto model = node.models().find(name);
                              return model && model->slots > 0;
                            },
                            p.cluster.limits.join_timeout()});
  repository_->add_to(api_->routes());
}

void http_frontend::add_completions(const parts& p) {
  completion_api_ = std::make_unique<openai_api>(
      openai_api::parts{p.cluster, p.time, p.node, p.completions, api_->keys(), *long_bodies_,
                        read_tokenizer_bundles(p.cluster), unix_time});
  completion_api_->add_to(api_->routes());
}

void http_frontend::add_encoders(const parts& p) {
  std::vector<encoder_bundle> bundles;
  for (const auto& e : p.cluster.encoders)
    bundles.push_back(read_encoder_bundle(e.path, e.lengths.back().tokens));
  encoder_api_ = std::make_unique<encoder_api>(encoder_api::parts{
      p.cluster, p.time, p.node, p.clients, api_->keys(), *long_bodies_, std::move(bundles)});
  encoder_api_->add_to(api_->routes());
}

void http_frontend::add_ui(const parts& p) {
  const auto served = [&node = p.node] {
    std::map<model_id, std::string> names;
    for (const auto& m : node.models().all()) names[m->model] = m->name;
    return names;
  };
  watching_ = std::make_unique<ui_feed>(
      ui_feed::parts{p.system, p.console_actor, p.metrics, p.cluster, p.time, p.self, served});
  watching_->add_to(api_->routes());
}

void http_frontend::report(std::vector<metric>& out) const {
  const auto* server = listening_.load();
  if (server == nullptr) return;
  out.push_back(
      {"troupe_http_connections", {}, static_cast<double>(server->connections()), metric::kind::gauge});
  api_->keys().report(out);
}

void http_frontend::read_keys(cluster_spec cluster) {
  if (!api_) return;
  const auto wrong = refresh_keys(cluster);
  for (const auto& w : wrong) spdlog::error("event=keys_not_read reason=\"{}\"", w);
  if (!wrong.empty()) return;
  api_->keys().replace(api_keys(cluster));
  spdlog::info("event=keys_read");
}

void http_frontend::stop_watching() {
  if (watching_) watching_->stop();
}

void http_frontend::drain() {
  if (server_) server_->drain(1s);
}

void http_frontend::close() {
  server_.reset();
  if (long_bodies_) long_bodies_->stop();
}

}  // namespace troupe
