// A plug-in for the tests of the loader. An environment variable chooses its misbehaviour.
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "plugins/plugin.hpp"
#include "plugins/protocol.hpp"
#include "policies/batching/eager.hpp"

using namespace troupe;

namespace {

struct add {
  static constexpr const char* about = "counts as so many messages";
  uint32_t messages = 0;
  TROUPE_MESSAGE(add, messages)
};
struct heard {
  uint64_t messages = 0;
  TROUPE_MESSAGE(heard, messages)
};
using listener_commands = type_list<exchange<add, heard>>;

/// Reports the number of messages it received.
class listener final : public actor {
 public:
  explicit listener(const extension_parts& parts) : actor(parts.self, parts.out) {}
  void on(envelope&, time_point) override { ++heard_; }
  command_reply on_command(const command& c, time_point) override {
    return run_command(listener_commands{}, c, [&](const add& a) { return heard{heard_ += a.messages}; });
  }
  void on_time(time_point) override {}
  time_point next_wakeup() const override { return never; }
  void report(std::vector<metric>& out) const override {
    out.push_back({"heard", {}, static_cast<double>(heard_), metric::kind::counter});
  }

 private:
  uint64_t heard_ = 0;
};

}  // namespace

TROUPE_PLUGIN("example", "2.1", host) {
  const char* set = std::getenv("TROUPE_EXAMPLE_PLUGIN");
  const std::string wish = set != nullptr ? set : "";
  if (wish == "throw") throw std::runtime_error("no licence");
  if (wish == "throw a number") throw 7;
  if (wish == "take") host.batching("eager", {});
  if (wish == "twice") host.actor("listener", {}), host.actor("listener", {});
  if (wish == "key") host.text("no key", "");

  host.integer("count", 1, 9, 3);
  host.number("share", "a fraction", 0, 1, 0.25);
  host.text("mood", "good");
  host.batching("example",
                [](const batching_parameters& p, shedding rule) -> std::unique_ptr<batching_policy> {
                  if (p.settings.text("mood") == "bad") throw std::runtime_error("not today");
                  if (p.settings.text("mood") == "none") return nullptr;
                  return std::make_unique<eager>(p, rule);
                });
  host.matchmaking("example", [](const plugin_settings& s) {
    static_cast<void>(s.integer("share"));  // it is a number: a bug of the plug-in
    return std::unique_ptr<matchmaking_policy>();
  });
  host.actor(
      "listener", [](const extension_parts& parts) { return std::make_unique<listener>(parts); },
      protocol_of(listener_commands{}));
}
