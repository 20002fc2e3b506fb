#include "tools/node/serve_node.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "actors/cluster/control_endpoint.hpp"
#include "actors/cluster/control_middleman.hpp"
#include "actors/frontend/http_api.hpp"
#include "actors/frontend/openai_api.hpp"
#include "actors/frontend/repository_api.hpp"
#include "actors/frontend/ui_feed.hpp"
#include "actors/node_runtime.hpp"
#include "actors/operator/console.hpp"
#include "actors/operator/metrics.hpp"
#include "actors/runtime/actor_of.hpp"
#include "actors/runtime/system_config.hpp"
#include "config/cluster_file.hpp"
#include "config/security.hpp"
#include "messages/common/host_port.hpp"
#include "tools/common/control_certificates.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/node/device_pool.hpp"
#include "tools/node/events.hpp"
#include "tools/node/http_options.hpp"
#include "tools/node/llm_device_pool.hpp"
#include "transport/fabric/ucx_fabric.hpp"
#include "transport/http/server.hpp"

namespace troupe {
namespace {

struct node_config final : threaded_config {
  node_config() : threaded_config(2) { prepare_control_lane(*this); }
};

/// Wall-clock nanoseconds: larger in every later incarnation of a node, also across restarts.
incarnation_id incarnation_after(incarnation_id last) {
  const auto now = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  return incarnation_id{std::max(now, last.value + 1)};
}

/// What peers must say in every message to this process, and in every frame to this incarnation: from the
/// kernel, so that nobody guesses it.
uint64_t draw_secret() {
  uint64_t secret = 0;
  if (getentropy(&secret, sizeof secret) != 0) throw std::runtime_error("the kernel gives no random bytes");
  return secret;
}

/// A command's definition, checked like a [[model]] table of the cluster file.
deployer::model_reading read_model(const std::string& text, const cluster_spec& cluster) {
  auto reading = read_model_text(text, "definition", cluster, cluster.directory);
  deployer::model_reading out;
  for (const auto& p : reading.problems) out.problem += (out.problem.empty() ? "" : "; ") + p.text;
  out.definition = std::move(reading.spec);
  return out;
}

/// SIGHUP: reads the key files again. If one of them will not do, all keys stay as they were.
void take_new_keys(cluster_spec cluster, http_api& api) {
  const auto wrong = refresh_keys(cluster);
  for (const auto& w : wrong) spdlog::error("event=keys_not_read reason=\"{}\"", w);
  if (!wrong.empty()) return;
  api.keys().replace(api_keys(cluster));
  spdlog::info("event=keys_read");
}

/// A client's definition: it may name only files below the directory for that.
repository_api::reading read_config(const std::string& name, const std::string& json,
                                    const cluster_spec& cluster) {
  if (cluster.model_directory.empty())
    return {{}, "models cannot be loaded by their definition: the cluster file has no [models] directory"};
  try {
    const auto text = model_text_of_json(json, name);
    const auto reading =
        read_model_text(text, "config", cluster, cluster.model_directory, cluster.model_directory);
    if (!reading.ok()) return {{}, reading.problems.front().text};
    if (reading.spec.name != name) return {{}, "name: is not that of the URL"};
    return {to_toml(reading.effective), {}};
  } catch (const std::runtime_error& e) {
    return {{}, e.what()};
  }
}

/// The network device for the data lane; empty: UCX chooses among all. A node that only this host can reach
/// must not show its data lane to others either.
std::string data_device(const node_spec& me) {
  if (!me.data_interface.empty()) return me.data_interface;
  return is_loopback(me.host) ? "lo" : "";
}

void add_lane_metrics(const data_lane& lane, const fabric& carrier, const slot_pool& pool,
                      std::vector<metric>& out) {
  using enum metric::kind;
  const auto& s = lane.stats();
  const auto f = carrier.stats();
  const auto add = [&](const char* name, uint64_t value, metric::kind k) {
    out.push_back({name, {}, static_cast<double>(value), k});
  };
  add("troupe_lane_messages_sent_total", s.sent, counter);
  add("troupe_lane_messages_received_total", s.received, counter);
  add("troupe_lane_messages_stale_total", s.stale, counter);
  add("troupe_lane_messages_malformed_total", s.malformed, counter);
  add("troupe_lane_messages_forged_total", s.forged, counter);
  add("troupe_fabric_bytes_sent_total", f.bytes_out, counter);
  add("troupe_fabric_bytes_received_total", f.bytes_in, counter);
  add("troupe_fabric_bytes_pulled_total", f.bytes_pulled, counter);
  add("troupe_fabric_frames_discarded_total", f.discarded_out + f.discarded_in, counter);
  add("troupe_pool_bytes", pool.capacity(), gauge);
  add("troupe_pool_used_bytes", pool.in_use(), gauge);
}

/// `http_port` 0: this node takes no requests.
void print_ready(const node_spec& me, uint16_t http_port, bool json) {
  const auto where = http_port == 0 ? me.name : "http://" + host_port(me.host, http_port);
  if (json)
    fmt::print("{}\n", nlohmann::json{{"ready", true}, {http_port == 0 ? "node" : "url", where}}.dump());
  else
    fmt::print("troupe: ready {}\n", where);
}

}  // namespace

int serve_node(const cluster_spec& cluster, const serve_options& options) {
  node_id self;
  while (self.value < cluster.nodes.size() && cluster.nodes[self.value].name != options.node) ++self.value;
  if (self.value == cluster.nodes.size()) {
    fmt::print(stderr, "troupe: the cluster file has no node '{}'\n", options.node);
    return exit_bad_input;
  }
  const auto& me = cluster.nodes[self.value];
  for (const auto& w : security_warnings(cluster, self)) fmt::print(stderr, "troupe: warning: {}\n", w);
  signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that may be closed
  llm_device_pool::prepare_process(cluster, self);
  const machine_clock time(options.clock_offset);
  node_events said;
  const signal_watch signals(said);

  ucx_options carrier_options;
  carrier_options.self = self;
  carrier_options.incarnation = incarnation_after({});
  carrier_options.secret = draw_secret();
  if (me.data_port != 0) {
    const auto port = std::to_string(me.data_port);
    carrier_options.environment.emplace_back("UCX_TCP_PORT_RANGE", port + "-" + port);
  }
  if (const auto device = data_device(me); !device.empty())
    carrier_options.environment.emplace_back("UCX_NET_DEVICES", device);
  const auto carrier = make_ucx_fabric(carrier_options, time);

  node_config config;
  caf::actor_system system(config);
  std::atomic<bool> ready{false}, draining{false};
  http_clients clients(time);
  std::atomic<post*> post{nullptr};  // set before any device is told to start a batch
  std::optional<device_pool> devices;
  try {
    devices.emplace(cluster, self, time, [&](slot_id slot) {
      post.load()->send({self, {}, role::gpu_worker, slot.value}, device_ready{});
    });
  } catch (const std::exception& e) {  // a GPU is not there
    fmt::print(stderr, "troupe: {}\n", e.what());
    return exit_failed;
  }
  auto& pool = *devices;
  llm_device_pool engines(cluster, self, time, [&](engine_id id) {
    if (auto* to = post.load()) to->send({self, {}, role::llm_engine, id.value}, device_ready{});
  });
  completion_clients completions;
  const on_broken broken = [&](std::string why) { said.say(node_events::kind::threw, std::move(why)); };
  std::unique_ptr<control_endpoint> endpoint;
  try {
    endpoint = std::make_unique<control_endpoint>(system, control_certificates(cluster, me.name, me.host),
                                                  time, cluster, self, broken);
  } catch (const std::runtime_error& e) {
    fmt::print(stderr, "troupe: {}\n", e.what());
    return exit_failed;
  }

  node_runtime::environment environment{
      system,
      time,
      *carrier,
      *endpoint,
      clients,
      [&](slot_id slot) -> device& { return pool.at(slot); },
      pool,
      [&](std::unique_ptr<actor_group> g, on_broken b) {
        return spawn_threaded_caf_host(system, std::move(g), time, usual_timing, std::move(b));
      },
      false,
      [&](const caf::actor& a, time_point at) {
        caf::delayed_anon_send(a, std::max(at - time.now(), duration{0}), wake_atom_v);
      },
      [first = carrier_options.incarnation](incarnation_id last) {
        return last == incarnation_id{} ? first : incarnation_after(last);
      },
      [](incarnation_id) { return draw_secret(); },
      [&](bool yes) {
        ready = yes;
        if (yes) said.say(node_events::kind::ready);
      },
      [&] { said.say(node_events::kind::drained); },
      [&](std::string why) { said.say(node_events::kind::refused, std::move(why)); },
      broken,
      [&](const std::string& text) { return read_model(text, cluster); },
      [&] { said.say(node_events::kind::stop); },
      [&](std::string why) { said.say(node_events::kind::unusable, std::move(why)); },
      &completions,
      [&](engine_id id) -> llm::engine_device& { return engines.at(id); },
      [&](llm_id model) { return engines.adapters_of(model); }};
  node_runtime runtime(cluster, self, environment);
  post = &runtime.post();
  for (uint32_t i = 0; i < cluster.engines.size(); ++i)  // what a device had to tell before there was a post
    if (cluster.engines[i].node == self) runtime.post().send({self, {}, role::llm_engine, i}, device_ready{});
  std::atomic<const http_server*> listening{nullptr};
  std::unique_ptr<http_api> api;
  std::unique_ptr<openai_api> completion_api;
  const auto gauges = spawn<metrics>(system, runtime.post(), [&](std::vector<metric>& out) {
    add_lane_metrics(runtime.lane(), *carrier, runtime.pool(), out);
    out.push_back({"troupe_extension_messages_dropped_total",
                   {},
                   static_cast<double>(runtime.post().dropped()),
                   metric::kind::counter});
    out.push_back(
        {"troupe_node_restarts_total", {}, static_cast<double>(options.restarts), metric::kind::counter});
    out.push_back({"troupe_exceptions_survived_total",
                   {},
                   static_cast<double>(survived_exceptions()),
                   metric::kind::counter});
    if (const auto* http = listening.load()) {
      out.push_back(
          {"troupe_http_connections", {}, static_cast<double>(http->connections()), metric::kind::gauge});
      api->keys().report(out);
    }
  });
  const auto to_actor = [](const auto& actor) {
    return [actor](command_query q) { caf::anon_send(actor, std::move(q)); };
  };
  const auto console_actor = spawn<console>(
      system,
      console::facts{cluster,
                     self,
                     [&] { return runtime.lane().incarnation().value; },
                     [&] { return ready.load(); },
                     runtime.models(),
                     gauges,
                     runtime.deployer_actor(),
                     runtime.post(),
                     *endpoint,
                     {{role::node, to_actor(runtime.node_actor())}, {role::metrics, to_actor(gauges)}},
                     options.restarts,
                     options.last_end});
  endpoint->open(runtime.node_actor(), caf::actor_cast<caf::actor>(console_actor));

  int exit_code = exit_done;
  std::unique_ptr<repository_api> repository;
  std::unique_ptr<ui_feed> watching;
  std::unique_ptr<http_server> server;
  try {
    if (me.has(node_role::gateway)) {
      api = std::make_unique<http_api>(
          http_api::parts{cluster, time, runtime, clients, gauges,
                          [&] {
                            return runtime.models().serving() &&
                                   runtime.language_models().every_model_was_served() && !draining;
                          },
                          [] { return std::chrono::system_clock::now().time_since_epoch(); }});
      repository = std::make_unique<repository_api>(repository_api::parts{
          system, runtime.deployer_actor(),
          [&](const std::string& name, const std::string& json) { return read_config(name, json, cluster); },
          [&](const std::string& name) {
            const auto model = runtime.models().find(name);
            return model && model->slots > 0;
          },
          3 * cluster.limits.node_timeout});
      repository->add_to(api->routes());
      if (!cluster.llms.empty()) {
        completion_api = std::make_unique<openai_api>(openai_api::parts{
            cluster, time, runtime, completions, api->keys(), read_tokenizer_bundles(cluster),
            [] { return std::chrono::system_clock::now().time_since_epoch(); }});
        completion_api->add_to(api->routes());
      }
      watching =
          std::make_unique<ui_feed>(ui_feed::parts{system, console_actor, gauges, cluster, time, self, [&] {
                                                     std::map<model_id, std::string> served;
                                                     for (const auto& m : runtime.models().all())
                                                       served[m->model] = m->name;
                                                     return served;
                                                   }});
      watching->add_to(api->routes());
      server = std::make_unique<http_server>(http_options(me, cluster.limits), api->handler());
      listening = server.get();
    }
    bool reported = false;
    for (bool over = false; !over;) {
      const auto [what, text] = said.wait();
      switch (what) {
        case node_events::kind::ready:
          if (std::exchange(reported, true)) break;
          print_ready(me, server ? server->port() : 0, options.json);
          std::fflush(stdout);
          break;
        case node_events::kind::stop:
          draining = true;
          caf::anon_send(runtime.node_actor(), drain_atom_v);
          break;
        case node_events::kind::new_keys:
          if (api) take_new_keys(cluster, *api);
          break;
        case node_events::kind::drained: over = true; break;
        case node_events::kind::threw:
          spdlog::critical("event=broken node={} reason=\"{}\"", me.name, text);
          spdlog::shutdown();
          std::_Exit(exit_broken);  // what is left of it touches nothing more; its peers see it end
        case node_events::kind::refused:
        case node_events::kind::unusable:
          fmt::print(stderr, "troupe: {}\n", text);
          exit_code = exit_failed;
          over = true;
          break;
      }
    }
    if (watching) watching->stop();
    if (server) server->drain(1s);
  } catch (const std::exception& e) {
    fmt::print(stderr, "troupe: {}\n", e.what());
    exit_code = exit_failed;
  }
  if (pool.is_loading()) {  // that may take minutes, and nobody waits for it any more
    spdlog::shutdown();
    std::fflush(nullptr);
    std::_Exit(exit_code);
  }
  pool.stop_loading();
  endpoint->close();
  runtime.stop();
  if (watching) watching->stop();
  caf::anon_send_exit(gauges, caf::exit_reason::kill);
  caf::anon_send_exit(console_actor, caf::exit_reason::kill);
  system.await_all_actors_done();
  engines.clear();
  pool.clear();  // what a device may still call is there until here
  server.reset();
  return exit_code;
}

}  // namespace troupe
