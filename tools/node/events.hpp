// Events for the main thread of a node.
#pragma once
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

/// Queue of events from signals, actors and loaders. Thread-safe.
class node_events {
 public:
  enum class kind { ready, stop, drained, refused, failed, unusable, threw, new_keys };
  void say(kind k, std::string text = {}) {
    std::lock_guard lock(mutex_);
    queue_.push_back({k, std::move(text)});
    wake_.notify_one();
  }
  std::pair<kind, std::string> wait() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return !queue_.empty(); });
    auto first = std::move(queue_.front());
    queue_.erase(queue_.begin());
    return first;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::pair<kind, std::string>> queue_;
};

/// Turns SIGTERM, SIGINT and SIGHUP into events. Construct it before any other thread, so that all threads
/// inherit the signal mask.
class signal_watch {
 public:
  explicit signal_watch(node_events& to) {
    sigemptyset(&set_);
    for (int s : {SIGTERM, SIGINT, SIGHUP, SIGUSR2}) sigaddset(&set_, s);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    thread_ = std::thread([this, &to] {
      for (int got = 0; sigwait(&set_, &got) == 0 && !over_;)
        if (got != SIGUSR2) to.say(got == SIGHUP ? node_events::kind::new_keys : node_events::kind::stop);
    });
  }
  ~signal_watch() {
    over_ = true;
    pthread_kill(thread_.native_handle(), SIGUSR2);
    thread_.join();
  }

 private:
  sigset_t set_{};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace troupe
