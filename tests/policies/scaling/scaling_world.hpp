// A small cluster with scaling models, and the loop of a pool over the policies: reports and orders travel
// late, nodes die and come back empty. Checks at every step what must never happen.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/common/random.hpp"
#include "policies/scaling/copy_plan.hpp"
#include "policies/scaling/instance_choice.hpp"
#include "policies/scaling/instance_lifecycle.hpp"
#include "policies/scaling/pending_orders.hpp"

namespace troupe {

class scaling_world {
 public:
  explicit scaling_world(uint64_t seed);

  /// One random event.
  void disturb();
  /// Delivers and finishes everything, without random events, until nothing changes. False: it never ends.
  bool settle();
  /// After it has settled: models have their instances and copies, and nothing waits.
  void check_settled();

  const std::string& violation() const { return violation_; }  ///< the first one; empty: none
  uint64_t orders() const { return orders_; }

 private:
  struct engine {
    scaling_view::place place;
    instance_lifecycle life{true};
    bool bad = false;  ///< cannot load its model
  };
  struct order {
    std::optional<stage_order> stage = {};
    std::optional<copy_place> place = {};
    std::optional<copy_drop> drop = {};
  };
  struct report {
    scaling_view::node node;
    std::vector<scaling_view::place> places;
  };
  struct node {
    scaling_view::node is;
    bool up = true;
    std::vector<engine> engines;
    std::vector<bool> broken;  ///< checkpoints, by model
    std::deque<order> orders;
    std::deque<report> reports;
    std::optional<report> known;
  };

  void expect(bool ok, const std::string& what);
  uint32_t chance(uint32_t n) { return static_cast<uint32_t>(random_.below(n)); }
  node& any_node() { return nodes_[chance(static_cast<uint32_t>(nodes_.size()))]; }
  image_state* image(node& n, weights_id m);

  void die(node& n);
  void come_back(node& n);
  void send_report(node& n);
  bool deliver_report(node& n);
  bool deliver_order(node& n);
  void on_place(node& n, const copy_place& p);
  /// One chunk of one image, or the loss of its source.
  bool advance_image(node& n, image_state& i);
  bool advance_engine(node& n, engine& e, bool empty);
  bool repeat_orders();

  scaling_view reported() const;
  /// What the pool does after each change. True: it sent orders.
  bool decide();
  void post(const std::vector<stage_order>& stages, const copy_plan& copies);
  void check_orders(const copy_plan& sent);
  void check_rooms();

  uint64_t seed_;
  random_stream random_;
  bool ample_ = false, domains_ = false;
  std::vector<scaling_view::model> models_;
  uint32_t copies_ = 1;
  scaling_policy policy_ = scaling_policy::blitz;
  duration keep_{};
  std::vector<node> nodes_;
  link_rates rates_{cluster_spec{}};
  pending_orders pending_;
  std::vector<weights_id> short_of_places_;
  std::string violation_;
  uint64_t orders_ = 0;
};

}  // namespace troupe
