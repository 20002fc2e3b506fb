#include "actors/runtime/caf_host.hpp"

#include <algorithm>
#include <caf/all.hpp>
#include <caf/detail/sync_request_bouncer.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "actors/runtime/caf_types.hpp"
#include "actors/runtime/turn_rate_limiter.hpp"
#include "transport/common/spin_budget.hpp"

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
        spins_(std::max(timing.spin, timing.linger)),
        broken_(std::move(broken)) {}

  /// CAF's own wakes its reader while it holds the mutex that the reader needs, which costs two more switches
  /// of threads for each message.
  void enqueue(caf::mailbox_element_ptr e, caf::execution_unit*) override {
    const auto id = e->mid;
    const auto from = e->sender;
    switch (mailbox().push_back(std::move(e))) {
      case caf::intrusive::inbox_result::success: break;
      case caf::intrusive::inbox_result::unblocked_reader: {
        {
          std::lock_guard lock(mutex_);
          unblocked_ = true;
        }
        arrived_.notify_one();
        break;
      }
      case caf::intrusive::inbox_result::queue_closed:
        if (id.is_request()) caf::detail::sync_request_bouncer{caf::sec::request_receiver_down}(from, id);
    }
  }
  void await_data() override { await(never); }

  void act() override {
    message_batch inbox;
    while (!done_) {
      wait();
      inbox.clear();
      deliveries_ = 0;
      const bool well = survives(broken_, [&] {
        while (has_next_message()) take(*dequeue(), inbox);
        const auto now = clock_.now();
        spins_.add(1, now);
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
    const bool spins = spins_.allowed() > 0ns;
    if (spins && spin_until(std::min(due, began + timing_.linger))) return;
    if (due == never) return await_data();
    const auto early = spins ? timing_.spin : duration{};
    for (auto now = clock_.now(); now + early < due; now = clock_.now())
      if (await(due - early)) return;
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
  bool await(time_point until) {
    if (!mailbox().try_block()) return true;
    std::unique_lock lock(mutex_);
    const auto unblocked = [&] { return std::exchange(unblocked_, false); };
    if (until != never) {
      if (arrived_.wait_for(lock, until - clock_.now(), unblocked)) return true;
      if (mailbox().try_unblock()) return false;  // else a sender is about to notify
    }
    arrived_.wait(lock, unblocked);
    return true;
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

  std::unique_ptr<actor_group> group_;
  const machine_clock& clock_;
  const caf_host_timing timing_;
  turn_rate_limiter pace_;
  spin_budget spins_;  ///< its events are turns
  const on_broken broken_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  bool unblocked_ = false;  ///< a sender found the mailbox blocked; guarded by mutex_
  size_t deliveries_ = 0;   ///< deliveries taken from the mailbox for this turn
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
