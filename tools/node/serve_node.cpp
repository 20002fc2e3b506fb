#include "tools/node/serve_node.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "actors/cluster/control_endpoint.hpp"
#include "actors/cluster/control_middleman.hpp"
#include "actors/node_runtime.hpp"
#include "actors/runtime/system_config.hpp"
#include "config/security.hpp"
#include "gpu/common/model_error.hpp"
#include "messages/cluster/find_node.hpp"
#include "messages/common/host_port.hpp"
#include "tools/common/control_certificates.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/node/data_port.hpp"
#include "tools/node/decided_engines.hpp"
#include "tools/node/file_limit.hpp"
#include "tools/node/http_frontend.hpp"
#include "tools/node/node_process.hpp"
#include "tools/node/operator_actors.hpp"
#include "tools/node/real_devices.hpp"
#include "tools/node/real_fabric.hpp"
#include "tools/node/registered_memory_limits.hpp"

namespace troupe {
namespace {

struct node_config final : threaded_config {
  node_config() : threaded_config(2) { prepare_control_lane(*this); }
};

/// Call before the process has other threads.
void prepare_process(const cluster_spec& cluster, node_id self) {
  for (const auto& w : security_warnings(cluster, self)) report("troupe: warning: {}", w);
  const auto files =
      file_limit_problem(cluster.nodes[self.value].name, raise_file_limit(), cluster.nodes.size());
  if (!files.empty()) throw std::runtime_error(files);
  remove_abandoned_memory();
  const auto memory = memory_limit_problem(cluster, std::array{self}, limits_here(cluster));
  if (!memory.empty()) throw std::runtime_error(memory);
  signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that may be closed
  llm_device_pool::prepare_process(cluster, self);
}

clock_part real_clock(const clock& time) {
  return {time, [&time](const caf::actor& a, time_point at) {
            caf::delayed_anon_send(a, std::max(at - time.now(), duration{0}), wake_atom_v);
          }};
}

caf_host_part threaded_hosts(caf::actor_system& system, const machine_clock& time,
                             const cluster_spec& cluster) {
  auto timing = usual_timing;
  timing.direct = cluster.plugins.empty();  // their policies and actors may take any time
  return {system, [&, timing](std::unique_ptr<actor_group> group, on_broken broken) {
            auto its = timing;
            its.direct = timing.direct && group->is_direct();
            return spawn_threaded_caf_host(system, std::move(group), time, its, std::move(broken));
          }};
}

/// `http_port` 0: the node has no gateway.
void print_ready(const node_spec& me, uint16_t http_port, const serve_options& options) {
  const auto where = http_port == 0 ? me.name : "http://" + host_port(me.host, http_port);
  fmt::print("{}", options.before_ready);
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"ready", true}, {http_port == 0 ? "node" : "url", where}}.dump());
  else
    fmt::print("troupe: ready {}\n", where);
  std::fflush(stdout);
}

/// Ends the process without destructors, because other threads still run.
[[noreturn]] void end_at_once(int exit_code) {
  spdlog::shutdown();
  std::_Exit(exit_code);
}

/// The loop of a node's main thread over its events.
struct main_loop {
  const cluster_spec& cluster;
  const node_spec& me;
  node_events& events;
  node_process& process;
  const node_protocol& node;
  http_frontend& http;
  const serve_options& options;

  /// Runs until the node has drained or cannot serve; returns the exit code.
  int run() const {
    for (bool reported = false;;) {
      const auto [what, text] = events.wait();
      switch (what) {
        case node_events::kind::ready:
          if (!std::exchange(reported, true)) print_ready(me, http.port(), options);
          break;
        case node_events::kind::stop:
          process.begin_drain();
          caf::anon_send(node, drain_atom_v);
          break;
        case node_events::kind::new_keys: http.read_keys(cluster); break;
        case node_events::kind::drained: return exit_done;
        case node_events::kind::threw:
          spdlog::critical("event=broken node={} reason=\"{}\"", me.name, text);
          end_at_once(exit_broken);  // peers notice the closed connections
        case node_events::kind::refused:
        case node_events::kind::failed: report("troupe: {}", text); return exit_failed;
        case node_events::kind::unusable: report("troupe: {}", text); return exit_bad_input;
      }
    }
  }
};

/// Since 1970.
duration wall_clock() { return std::chrono::system_clock::now().time_since_epoch(); }

/// Opens the HTTP frontend on a gateway, runs the loop, and drains the frontend.
int serve(const main_loop& loop, const http_frontend::parts& http_parts) {
  try {
    if (loop.me.has(node_role::gateway)) loop.http.open(http_parts);
    const int exit_code = loop.run();
    loop.http.stop_watching();
    loop.http.drain();
    return exit_code;
  } catch (const model_error& e) {
    report("troupe: {}", e.what());
    return exit_bad_input;
  } catch (const std::exception& e) {
    report("troupe: {}", e.what());
    return exit_failed;
  }
}

}  // namespace

int serve_node(const cluster_spec& file, const serve_options& options) {
  const auto found = find_node(file, options.node);
  if (!found) {
    report("troupe: {}", no_such_node(file, options.node));
    return exit_bad_input;
  }
  const auto self = *found;
  auto cluster = file;
  const auto& me = cluster.nodes[self.value];
  prepare_process(cluster, self);

  const machine_clock time(options.clock_offset);
  // While SIGTERM still ends the process at once.
  if (has_ucx_port(cluster)) await_data_port(me, time);
  node_events events;
  const signal_watch signals(events);
  decide_engines(cluster, self);
  real_fabric fabric(cluster, self, time);
  node_config config;
  caf::actor_system system(config);
  node_process process(cluster, events);
  http_clients clients(time);
  completion_clients completions;
  real_devices devices(cluster, self, time);
  control_endpoint control(system, control_certificates(cluster, me.name, me.host), time, cluster, self,
                           process.broken());

  node_runtime runtime(cluster, self,
                       {.clock = real_clock(time),
                        .fabric = fabric.part(),
                        .control = control,
                        .hosts = threaded_hosts(system, time, cluster),
                        .devices = devices.part(),
                        .clients = {clients, &completions, time.now() - wall_clock()},
                        .process = process.part()});
  devices.connect(runtime.post());
  http_frontend http;
  operator_actors operators({system, cluster, self, runtime, fabric.carrier(), control, process,
                             [&](std::vector<metric>& out) { http.report(out); }, options.restarts,
                             options.last_end});
  control.open(runtime.node_actor(), caf::actor_cast<caf::actor>(operators.console_actor()));

  const int exit_code = serve({cluster, me, events, process, runtime.node_actor(), http, options},
                              {system, cluster, self, time, runtime, runtime.deployer_actor(), clients,
                               completions, operators.metrics_actor(), operators.console_actor(), process});

  if (devices.is_loading()) {  // it may take minutes, and its result is not needed
    std::fflush(nullptr);
    end_at_once(exit_code);
  }
  devices.stop_loading();
  control.close();
  runtime.stop();
  http.stop_watching();
  operators.stop();
  system.await_all_actors_done();
  devices.clear();  // devices may call actors until here
  http.close();
  return exit_code;
}

}  // namespace troupe
