// Orders to engines and shards that statuses and inventories do not show yet. Decisions see a view in which
// they are carried out already: otherwise each report that comes in between would bring other orders, and
// two drops of the same model could meet.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "policies/scaling/copy_plan.hpp"
#include "policies/scaling/instance_choice.hpp"
#include "policies/scaling/scaling_view.hpp"

namespace troupe {

class pending_orders {
 public:
  /// `reported`: statuses and inventories alone. Forgets the orders that it shows, those to nodes and places
  /// that it does not have, and copies of files that their node does not want any more. Adds the effects of
  /// the others. An incarnation of a node that ends and one that begins must not follow each other without a
  /// view between them that lacks the node.
  scaling_view expected(scaling_view reported);

  /// The orders to be sent now, which are pending from now on. There is at most one for each engine, and one
  /// for each image on a node, except that another source replaces the one before.
  std::vector<stage_order> send(const std::vector<stage_order>& orders);
  copy_plan send(const copy_plan& plan);

  /// All that are pending, to be repeated when reports stay away.
  std::vector<stage_order> stages() const;
  copy_plan copies() const;

 private:
  struct copy_order {
    bool drop = false;
    copy_place place = {};  ///< unless it is a drop
  };
  using copy = std::pair<node_id, weights_id>;

  std::map<engine_id, instance_stage> stages_;
  std::map<copy, copy_order> copies_;
};

}  // namespace troupe
