// The interface of plug-ins. A plug-in is a shared library with one such definition:
//
//   TROUPE_PLUGIN("patience", "1.0", host) {
//     host.number("fraction", "of the slack", 0, 1, 0.5);
//     host.batching("patient", [](const batching_parameters& p, shedding rule) {
//       return std::make_unique<patient>(p, rule);
//     });
//   }
//
// docs/policies.md explains an example. The function runs once, before any actor; its exceptions are reported
// as problems of the cluster file. The library stays loaded until the process ends.
#pragma once
#include <cstdint>
#include <string_view>

#include "actors/extension/extension.hpp"
#include "plugins/descriptor.hpp"
#include "policies/batching/batching.hpp"
#include "policies/batching/deadline_batching.hpp"
#include "policies/matchmaking/matchmaking.hpp"
#include "policies/matchmaking/timer_matchmaking.hpp"

namespace troupe {

/// Takes the parameters, policies and actors that a plug-in registers. A name that is taken or invalid throws
/// std::invalid_argument.
class plugin_host {
 public:
  // Parameters: keys of the table [plugins.NAME] of the cluster file. A missing key has the fallback; a value
  // out of bounds is an error with its position. `unit` is for error messages: "milliseconds".
  virtual void integer(std::string_view key, int64_t min, int64_t max, int64_t fallback) = 0;
  virtual void number(std::string_view key, std::string_view unit, double min, double max,
                      double fallback) = 0;
  virtual void text(std::string_view key, std::string_view fallback) = 0;

  /// A value of `batching` in [policy]. The settings are in `batching_parameters::settings`. Policies must be
  /// deterministic.
  virtual void batching(std::string_view name, batching_factory make) = 0;
  /// A value of `matchmaking` in [policy].
  virtual void matchmaking(std::string_view name, matchmaking_factory make) = 0;
  /// A value of `kind` in an [[actor]] with this `plugin`. The actor may depend only on its messages and the
  /// times passed to it, so that simulations are repeatable. `takes`: its commands (protocol.hpp).
  virtual void actor(std::string_view kind, extension_factory make, extension_protocol takes = {}) = 0;

 protected:
  ~plugin_host() = default;
};

}  // namespace troupe

/// In one file of the library, at namespace scope. `host` is the name of the plugin_host& in the body.
#define TROUPE_PLUGIN(name, version, host)                                                              \
  extern "C" [[gnu::section(".troupe_plugin"), gnu::used,                                               \
               gnu::visibility("default")]] constinit const ::troupe::plugin_descriptor troupe_plugin = \
      ::troupe::describe_plugin(name, version, TROUPE_PLUGIN_CAF);                                      \
  extern "C" [[gnu::visibility("default")]] void troupe_register_plugin(::troupe::plugin_host& host)
