#include "actors/runtime/caf_host.hpp"

#include <algorithm>
#include <caf/all.hpp>
#include <thread>
#include <utility>

#include "actors/runtime/caf_types.hpp"
#include "actors/runtime/turn_rate_limiter.hpp"

namespace troupe {
namespace {

/// `statuses`: taken when the query arrived.
group_report report_of(const actor_group& group, std::vector<actor_status> statuses) {
  group_report r;
  r.actors = group.names();
  r.statuses = std::move(statuses);
  group.report(r.metrics);
  r.unfinished = group.unfinished();
  r.busy_with = group.busy_with();
  return r;
}

/// Runs `work` on the group. False if it threw; `broken` is called then. Exceptions of actors arrive as
/// `actor_exception`; other work of the host may throw anything.
template <class Work>
bool survives(const on_broken& broken, Work&& work) {
  std::string why = "an exception of an unknown type";
  try {
    work();
    return true;
  } catch (const actor_exception& b) {
    if (broken) broken(b.what());
    return false;
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
  }
  if (broken) broken(actor_exception("a CAF host", "work for all its actors", why).what());
  return false;
}

class threaded_caf_host final : public caf::blocking_actor {
 public:
  threaded_caf_host(caf::actor_config& config, std::unique_ptr<actor_group> group, const machine_clock& time,
                    const caf_host_timing& timing, on_broken broken)
      : blocking_actor(config),
        group_(std::move(group)),
        clock_(time),
        timing_(timing),
        pace_(timing.interval),
        broken_(std::move(broken)) {}

  void act() override {
    message_batch inbox;
    while (!done_) {
      wait();
      inbox.clear();
      deliveries_ = 0;
      const bool well = survives(broken_, [&] {
        while (has_next_message()) take(*dequeue(), inbox);
        const auto now = clock_.now();
        pace_.begin(now);
        group_->turn(inbox, now);
      });
      if (!well) break;
    }
    group_.reset();
  }

 private:
  void wait() {
    const auto began = clock_.now();
    if (pace_.next() > began) std::this_thread::sleep_for(pace_.next() - began);
    const auto due = group_->next_wakeup();
    if (spin_until(std::min(due, began + timing_.linger))) return;
    if (due == never) return await_data();
    for (auto now = clock_.now(); now + timing_.spin < due; now = clock_.now())
      if (sleep_for(std::min(due - timing_.spin - now, longest_sleep))) return;
    spin_until(due);
  }

  /// True if a message came.
  bool spin_until(time_point t) {
    while (!has_next_message()) {
      if (clock_.now() >= t) return false;
      std::this_thread::yield();
    }
    return true;
  }
  /// True if a message came.
  bool sleep_for(duration d) {
    return await_data(timeout_type::clock::now() + std::chrono::duration_cast<timeout_type::duration>(d));
  }

  void take(caf::mailbox_element& e, message_batch& inbox) {
    auto m = e.move_content_to_message();
    if (m.match_elements<delivery>()) {
      ++deliveries_;
      auto& messages = m.get_mutable_as<delivery>(0).messages;
      if (inbox.empty())
        inbox.swap(messages);
      else
        inbox.insert(inbox.end(), std::make_move_iterator(messages.begin()),
                     std::make_move_iterator(messages.end()));
    } else if (m.match_elements<regrouping>()) {
      catch_up(inbox);
      m.get_as<regrouping>(0).change(*group_, clock_.now());
    } else if (m.match_elements<report_query>()) {
      auto statuses = group_->statuses(inbox);
      for (auto& row : statuses) row.mailbox_pending = deliveries_ + mailbox().size();
      catch_up(inbox);
      m.get_as<report_query>(0).reply(report_of(*group_, std::move(statuses)));
    } else if (m.match_elements<command_query>()) {
      catch_up(inbox);
      const auto& asked = m.get_as<command_query>(0);
      asked.reply(group_->run_command(asked.to, asked.what, clock_.now()));
    } else if (m.match_elements<caf::exit_msg>()) {
      done_ = true;
    }
  }

  /// Runs a turn for the messages that arrived before a query or a change of the group.
  void catch_up(message_batch& inbox) {
    if (inbox.empty()) return;
    group_->turn(inbox, clock_.now());
    inbox.clear();
  }

  /// CAF waits on the system clock. If that is set back, the host oversleeps by this much at most.
  static constexpr duration longest_sleep = 100ms;

  std::unique_ptr<actor_group> group_;
  const machine_clock& clock_;
  const caf_host_timing timing_;
  turn_rate_limiter pace_;
  const on_broken broken_;
  size_t deliveries_ = 0;  ///< deliveries taken from the mailbox for this turn
  bool done_ = false;
};

class scheduled_caf_host final : public caf::event_based_actor {
 public:
  scheduled_caf_host(caf::actor_config& config, std::unique_ptr<actor_group> group, const troupe::clock& time,
                     duration interval, wake_service wake, on_broken broken, delivery_watch watch)
      : event_based_actor(config),
        group_(std::move(group)),
        clock_(time),
        pace_(interval),
        wake_(std::move(wake)),
        broken_(std::move(broken)),
        watch_(std::move(watch)) {}

  caf::behavior make_behavior() override {
    return {[this](delivery& d) {
              if (watch_)
                for (const auto& e : d.messages) watch_(e);
              if (inbox_.empty() && inbox_.capacity() < d.messages.size())
                inbox_.swap(d.messages);
              else
                inbox_.insert(inbox_.end(), std::make_move_iterator(d.messages.begin()),
                              std::make_move_iterator(d.messages.end()));
              turn();
            },
            [this](wake_atom) {
              armed_ = never;
              turn();
            },
            [this](const regrouping& r) {
              if (!inbox_.empty() && !turn_now(clock_.now())) return;
              between_turns([&] { r.change(*group_, clock_.now()); });
            },
            [this](const report_query& q) {
              std::vector<actor_status> statuses;
              if (!well([&] { statuses = group_->statuses(inbox_); })) return;
              for (auto& row : statuses) row.mailbox_pending = mailbox().size();
              // A report includes all messages that were delivered before the query.
              if (!inbox_.empty() && !turn_now(clock_.now())) return;
              well([&] { q.reply(report_of(*group_, std::move(statuses))); });
            },
            [this](const command_query& q) {
              between_turns([&] { q.reply(group_->run_command(q.to, q.what, clock_.now())); });
            }};
  }
  void on_exit() override { group_.reset(); }
  const char* name() const override { return "scheduled_caf_host"; }

 private:
  template <class Work>
  bool well(Work&& work) {
    if (survives(broken_, work)) return true;
    quit(caf::sec::runtime_error);
    return false;
  }
  template <class Work>
  void between_turns(Work&& work) {
    if (!well(work)) return;
    if (const auto due = group_->next_wakeup(); due < armed_) wake_at(due);
  }
  void turn() {
    const auto now = clock_.now();
    if (pace_.next() > now) {
      if (pace_.next() < armed_) wake_at(pace_.next());
      return;
    }
    turn_now(now);
  }
  /// False if the turn threw and the host ends.
  bool turn_now(time_point now) {
    pace_.begin(now);
    if (!well([&] { group_->turn(inbox_, now); })) return false;
    inbox_.clear();
    if (const auto due = group_->next_wakeup(); due != armed_) wake_at(due);
    return true;
  }
  void wake_at(time_point due) {
    armed_ = due;
    wake_(caf::actor_cast<caf::actor>(this), due);
  }

  std::unique_ptr<actor_group> group_;
  const troupe::clock& clock_;
  turn_rate_limiter pace_;
  wake_service wake_;
  on_broken broken_;
  delivery_watch watch_;
  message_batch inbox_;
  time_point armed_ = never;
};

}  // namespace

caf::actor spawn_threaded_caf_host(caf::actor_system& system, std::unique_ptr<actor_group> group,
                                   const machine_clock& time, const caf_host_timing& timing,
                                   on_broken broken) {
  return system.spawn<threaded_caf_host, caf::detached>(std::move(group), time, timing, std::move(broken));
}

caf::actor spawn_scheduled_caf_host(caf::actor_system& system, std::unique_ptr<actor_group> group,
                                    const clock& time, duration interval, wake_service wake, on_broken broken,
                                    delivery_watch watch) {
  return system.spawn<scheduled_caf_host>(std::move(group), time, interval, std::move(wake),
                                          std::move(broken), std::move(watch));
}

}  // namespace troupe
