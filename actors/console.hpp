// console: one per node. Answers commands of the `troupe` tools, as JSON.
#pragma once
#include <caf/typed_event_based_actor.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "actors/catalog.hpp"
#include "actors/metrics.hpp"
#include "actors/supervision.hpp"

namespace troupe {

using console_protocol =
    caf::typed_actor<caf::replies_to<command>::with<command_reply>,
                     caf::reacts_to<group_report, uint64_t>>;  // answers a query of its own

class console {
 public:
  using handle = console_protocol;
  static constexpr const char* name = "console";

  struct facts {
    std::string node;  ///< its name
    std::string cluster_hash;
    std::function<uint64_t()> life;
    std::function<bool()> ready;
    const catalog& models;
    metrics_protocol metrics;
    deployer_protocol deployments;
  };

  console(handle::pointer self, facts f);
  handle::behavior_type make_behavior();
  /// After an exception: those who asked are told that there is no answer.
  void forget() { asked_.clear(); }

 private:
  static constexpr size_t max_asked = 64;  ///< commands under way; more are refused
  struct asked {
    uint64_t number;
    uint64_t token;
    caf::typed_response_promise<command_reply> answer;
  };
  caf::result<command_reply> on_command(const command& c);
  template <class Change>
  caf::result<command_reply> pass_on(const command& c);
  void on_report(const group_report& r, uint64_t number);

  handle::pointer self_;
  facts facts_;
  std::vector<asked> asked_;
  uint64_t last_ = 0;
};

}  // namespace troupe
