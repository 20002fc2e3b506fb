#include "actors/runtime/caf_host.hpp"

#include <algorithm>
#include <caf/all.hpp>
#include <caf/detail/sync_request_bouncer.hpp>
#include <mutex>
#include <thread>
#include <utility>

#include "actors/runtime/caf_types.hpp"
#include "actors/runtime/direct_turns.hpp"
#include "actors/runtime/turn_rate_limiter.hpp"
#include "transport/common/alarm_clock.hpp"
#include "transport/common/low_priority.hpp"
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
    const bool direct = timing_.direct && direct_turns::allowed() && e->content().match_elements<delivery>();
    switch (mailbox().push_back(std::move(e))) {
      case caf::intrusive::inbox_result::success: break;
      case caf::intrusive::inbox_result::unblocked_reader:
        // The host sleeps until it is woken, so its state belongs to this thread now.
        if (direct && pace_.next() <= clock_.now())
          take_turn_here();
        else
          wake();
        break;
      case caf::intrusive::inbox_result::queue_closed:
        if (id.is_request()) caf::detail::sync_request_bouncer{caf::sec::request_receiver_down}(from, id);
    }
  }
  void await_data() override {
    if (!has_next_message()) sleep_until(never);
  }

  void act() override {
    if (group_->has_low_priority()) lower_priority();
    while (!done_) {
      wait();
      if (broken_down_) break;
      take_turn([this] {
        while (has_next_message()) take(*dequeue());
      });
    }
    group_.reset();
  }

 private:
  /// `collect` moves messages to the inbox.
  template <class Collect>
  void take_turn(Collect&& collect) {
    const direct_turns::turn here;
    inbox_.clear();
    deliveries_ = 0;
    const bool well = survives(broken_, [&] {
      collect();
      const auto now = clock_.now();
      spins_.add(1, now);
      pace_.begin(now);
      group_->turn(inbox_, now);
    });
    if (!well) done_ = broken_down_ = true;
  }

  /// Takes a turn for one message on a sender's thread, and lets the host sleep on if nothing else is to be
  /// done.
  void take_turn_here() {
    take_turn([this] { take(*dequeue()); });
    {
      std::lock_guard lock(mutex_);
      if (!done_) set_alarm(wake_time());
      if (!done_ && !late_ && mailbox().try_block()) return;
      woken_ = true;
    }
    alarm_.ring();
  }

  void wake() {
    {
      std::lock_guard lock(mutex_);
      woken_ = true;
    }
    alarm_.ring();
  }

  /// When the host must be awake for its next turn: earlier under load, because sleeping threads wake late.
  time_point wake_time() const {
    const auto due = group_->next_wakeup();
    const bool early = due != never && due > clock_.now() && spins_.allowed() > 0ns;
    return early ? due - timing_.spin : due;
  }

  /// Under the lock: the host sleeps until then.
  void set_alarm(time_point due) {
    if (alarm_at_ == due) return;
    alarm_at_ = due;
    const auto now = clock_.now();
    alarm_.set(due == never ? duration::max() : due > now ? due - now : 0ns);
  }

  /// Returns when a message has come, a turn is due, or the host ends; not before the next turn may begin.
  void wait() {
    while (true) {
      const auto began = clock_.now();
      if (pace_.next() > began) std::this_thread::sleep_for(pace_.next() - began);
      if (done_ || has_next_message()) return;
      const auto due = group_->next_wakeup();  // senders may change it while this thread sleeps
      if (spins_.allowed() > 0ns && spin_until(std::min(due, began + timing_.linger))) return;
      if (const auto at = wake_time(); at > clock_.now()) {
        sleep_until(at);
      } else {
        spin_until(due);
        return;
      }
    }
  }

  /// True if a message came.
  bool spin_until(time_point t) {
    while (!has_next_message()) {
      if (clock_.now() >= t) return false;
      std::this_thread::yield();
    }
    return true;
  }

  /// Sleeps until a sender wakes this thread, or until that time. Senders may take turns meanwhile, and set
  /// another time.
  void sleep_until(time_point due) {
    std::unique_lock lock(mutex_);
    late_ = false;
    set_alarm(due);
    if (!mailbox().try_block()) return;
    while (true) {
      lock.unlock();
      alarm_.wait();
      lock.lock();
      const auto now = clock_.now();
      const bool over = now >= alarm_at_;
      if (over) alarm_at_ = never;  // an alarm rings once
      if (std::exchange(woken_, false)) return;
      if (over) {
        if (mailbox().try_unblock()) return;
        late_ = true;                   // a sender is about to wake this thread, or takes a turn
      } else if (alarm_at_ != never) {  // rung for a former time, or for a wake-up that is over
        alarm_.set(alarm_at_ - now);
      }
    }
  }

  void take(caf::mailbox_element& e) {
    auto m = e.move_content_to_message();
    if (m.match_elements<delivery>()) {
      ++deliveries_;
      auto& messages = m.get_mutable_as<delivery>(0).messages;
      if (inbox_.empty())
        inbox_.swap(messages);
      else
        inbox_.insert(inbox_.end(), std::make_move_iterator(messages.begin()),
                      std::make_move_iterator(messages.end()));
    } else if (m.match_elements<regrouping>()) {
      catch_up();
      m.get_as<regrouping>(0).change(*group_, clock_.now());
    } else if (m.match_elements<report_query>()) {
      auto statuses = group_->statuses(inbox_);
      for (auto& row : statuses) row.mailbox_pending = deliveries_ + mailbox().size();
      catch_up();
      m.get_as<report_query>(0).reply(report_of(*group_, std::move(statuses)));
    } else if (m.match_elements<command_query>()) {
      catch_up();
      const auto& asked = m.get_as<command_query>(0);
      asked.reply(group_->run_command(asked.to, asked.what, clock_.now()));
    } else if (m.match_elements<caf::exit_msg>()) {
      done_ = true;
    }
  }

  /// Runs a turn for the messages that arrived before a query or a change of the group.
  void catch_up() {
    if (inbox_.empty()) return;
    group_->turn(inbox_, clock_.now());
    inbox_.clear();
  }

  std::unique_ptr<actor_group> group_;
  const machine_clock& clock_;
  const caf_host_timing timing_;
  turn_rate_limiter pace_;
  spin_budget spins_;  ///< its events are turns
  const on_broken broken_;
  message_batch inbox_;    ///< of this turn
  size_t deliveries_ = 0;  ///< deliveries taken from the mailbox for this turn
  bool done_ = false;
  bool broken_down_ = false;  ///< a turn threw
  alarm_clock alarm_;
  std::mutex mutex_;             ///< guards the rest
  time_point alarm_at_ = never;  ///< when the alarm rings by itself
  bool woken_ = false;           ///< this thread shall not sleep on
  bool late_ = false;            ///< its time was over while a sender had the turn
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
