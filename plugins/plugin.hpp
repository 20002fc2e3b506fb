// Everything that a plug-in includes. A plug-in is a shared library with one of these:
//
//   TROUPE_PLUGIN("patience", "1.0", host) {
//     host.number("fraction", "of the slack", 0, 1, 0.5);
//     host.batching("patient", [](const batching_parameters& p, shedding rule) {
//       return std::make_unique<patient>(p, rule);
//     });
//   }
//
// docs/policies.md walks through one. The function runs once, before any actor; what it throws is a problem
// of the cluster file. A library stays loaded as long as the process lives.
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

/// What a plug-in tells the program about itself. A name that is taken throws std::invalid_argument.
class plugin_host {
 public:
  // Parameters: keys of the table [plugins.NAME] of the cluster file. What is left out there has the
  // fallback, what is out of bounds is refused with its place. `unit` is for the messages: "milliseconds".
  virtual void integer(std::string_view key, int64_t min, int64_t max, int64_t fallback) = 0;
  virtual void number(std::string_view key, std::string_view unit, double min, double max,
                      double fallback) = 0;
  virtual void text(std::string_view key, std::string_view fallback) = 0;

  /// For `batching` of [policy]. The settings are in `batching_parameters::settings`. Deterministic, as all
  /// policies.
  virtual void batching(std::string_view name, batching_factory make) = 0;
  /// For `matchmaking` of [policy].
  virtual void matchmaking(std::string_view name, matchmaking_factory make) = 0;
  /// For `kind` of an [[actor]] with `plugin` being this one. What it does depends on its messages and the
  /// time that it is told, on nothing else: else simulations do not repeat. `takes`: what it can be asked
  /// (protocol.hpp).
  virtual void actor(std::string_view kind, extension_factory make, extension_protocol takes = {}) = 0;

 protected:
  ~plugin_host() = default;
};

}  // namespace troupe

/// In one file of the library, at namespace scope. `host` is what the body calls its plugin_host&.
#define TROUPE_PLUGIN(name, version, host)                                                              \
  extern "C" [[gnu::section(".troupe_plugin"), gnu::used,                                               \
               gnu::visibility("default")]] constinit const ::troupe::plugin_descriptor troupe_plugin = \
      ::troupe::describe_plugin(name, version, TROUPE_PLUGIN_CAF);                                      \
  extern "C" [[gnu::visibility("default")]] void troupe_register_plugin(::troupe::plugin_host& host)
