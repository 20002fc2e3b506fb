// metrics collects the reports of the CAF hosts, the node actor and the deployer of its node into one, for
// the console, Prometheus and tests. Reports that do not arrive within a second are left out.
#pragma once
#include <caf/typed_event_based_actor.hpp>
#include <functional>
#include <string>
#include <vector>

#include "actors/runtime/caf_types.hpp"
#include "actors/runtime/post.hpp"
#include "actors/runtime/supervision.hpp"

namespace troupe {

using metrics_protocol =
    caf::typed_actor<caf::reacts_to<report_query>,  // answered with all reports in one
                     caf::reacts_to<command_query>, caf::reacts_to<group_report, uint64_t>,
                     caf::reacts_to<wake_atom, uint64_t>>;

class metrics {
 public:
  using handle = metrics_protocol;
  static constexpr const char* name = "metrics";

  /// `more` appends metrics that no actor has: lanes, pool.
  metrics(handle::pointer self, post& post, std::function<void(std::vector<metric>&)> more);
  handle::behavior_type make_behavior();
  /// After an exception: open queries get no reply.
  void forget() { open_.clear(); }

 private:
  struct gathering {
    uint64_t number;
    std::function<void(group_report)> reply;
    size_t missing;
    group_report sum;
  };
  void on_query(const report_query& q);
  void on_command(const command_query& q);
  void on_report(const group_report& r, uint64_t number);
  void finish(uint64_t number);
  void on_time(wake_atom, uint64_t number) { finish(number); }

  handle::pointer self_;
  post& post_;
  std::function<void(std::vector<metric>&)> more_;
  std::vector<gathering> open_;
  uint64_t last_ = 0;
};

/// The text that Prometheus scrapes.
std::string to_prometheus(const std::vector<metric>& metrics);

}  // namespace troupe
