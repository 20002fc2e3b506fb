#pragma once
#include <map>

#include "plugins/extension.hpp"

namespace patience {

/// An actor: counts the slots that are up and the lives that ended, for /metrics of its node. A shell hears
/// of what happens in the cluster like Troupe's own; it knows neither threads nor a clock, and runs in
/// simulations too.
class watchman final : public troupe::shell {
 public:
  explicit watchman(const troupe::extension_parts& parts) : shell(parts.self, parts.out) {}

  void on(troupe::envelope& e, troupe::time_point) override {
    using namespace troupe;
    dispatch(e.body, overloaded{[&](slot_ready& s) { slots_[s.slot] = s.worker; },
                                [&](node_leaving& l) { forget(l.node, l.life); },
                                [&](node_down& d) {
                                  ++lives_ended_;
                                  forget(d.node, d.life);
                                },
                                [&](reborn& r) {  // this node begins a new life and hears everything anew
                                  self_.life = r.life;
                                  slots_.clear();
                                }});
  }
  void on_time(troupe::time_point) override {}
  troupe::time_point next_wakeup() const override { return troupe::never; }

  void report(std::vector<troupe::metric>& out) const override {
    using enum troupe::metric::kind;
    out.push_back({"patience_slots", {}, static_cast<double>(slots_.size()), gauge});
    out.push_back({"patience_lives_ended_total", {}, static_cast<double>(lives_ended_), counter});
  }

 private:
  void forget(troupe::node_id node, troupe::incarnation life) {
    std::erase_if(slots_, [&](const auto& s) { return s.second.node == node && s.second.life == life; });
  }

  std::map<troupe::slot_id, troupe::address> slots_;
  uint64_t lives_ended_ = 0;
};

}  // namespace patience
