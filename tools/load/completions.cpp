#include "tools/load/completions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "messages/common/json_text.hpp"
#include "policies/workload/arrivals.hpp"
#include "tools/client/http_key.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/load/client.hpp"
#include "tools/load/completion_sender.hpp"

namespace troupe {
namespace {

constexpr duration pause_after_failure = 10ms;  // do not flood a server that refuses requests

class completion_load {
 public:
  explicit completion_load(const completion_load_options& o)
      : o_(o),
        start_(clock_.now()),
        sender_({o.url, o.headers, o.max_connections, o.timeout},
                [this](const completion_end& e) { count(e); }) {
    report_.slo = o.slo;
  }

  completion_report run() {
    if (o_.rate > 0)
      send_when_due();
    else
      send_when_free();
    sender_.wait_below(1);
    report_.length = last_end_ - start_;
    return std::move(report_);
  }

 private:
  void send_when_due() {
    arrival_process arrivals({.kind = arrival_kind::poisson, .rate = o_.rate}, start_,
                             random_stream(o_.seed, "arrivals"));
    for (uint64_t i = 0; i < o_.requests; ++i) {
      const auto due = arrivals.next();
      if (due >= start_ + o_.length) break;
      auto request = requests_.make(i);
      std::this_thread::sleep_for(due - clock_.now());
      send(std::move(request), due);
    }
  }

  void send_when_free() {
    for (uint64_t i = 0; i < o_.requests; ++i) {
      auto request = requests_.make(i);
      sender_.wait_below(o_.concurrency);
      if (refused_) std::this_thread::sleep_for(pause_after_failure);
      if (clock_.now() >= start_ + o_.length) break;
      send(std::move(request), clock_.now());
    }
  }

  void send(completion_requests::request made, time_point at) {
    {
      std::lock_guard lock(mutex_);
      ++report_.sent;
      report_.worst_lag = std::max(report_.worst_lag, clock_.now() - at);
    }
    sender_.send({std::move(made.model), std::move(made.body)}, at);
  }

  void count(const completion_end& e) {
    std::lock_guard lock(mutex_);
    last_end_ = std::max(last_end_, clock_.now());
    refused_ = !e.error.empty();
    if (e.error.empty())
      report_.add(e.model, e.times);
    else
      report_.add_error(e.error);
  }

  const completion_load_options& o_;
  const completion_requests requests_{o_};
  const machine_clock clock_;
  const time_point start_;
  std::mutex mutex_;
  completion_report report_;
  time_point last_end_{start_};
  std::atomic<bool> refused_ = false;  // the last answer
  completion_sender sender_;           // last: its thread uses the others
};

}  // namespace

completion_requests::completion_requests(const completion_load_options& options)
    : options_(options),
      popular_(
          zipf_shares(std::max<uint32_t>(1, static_cast<uint32_t>(options.adapters.size())), options.zipf)) {}

completion_requests::request completion_requests::make(uint64_t index) const {
  const auto& o = options_;
  request made{.model = o.model, .body = {}};
  if (!o.adapters.empty()) {
    random_stream random(o.seed, "adapters", index);
    made.model = o.adapters[popular_(random)];
  }
  nlohmann::ordered_json j{{"model", made.model},
                           {"prompt", o.prompt},
                           {"max_tokens", o.max_tokens},
                           {"stream", true},
                           {"stream_options", {{"include_usage", true}}}};
  if (o.prompt_tokens > 0) {
    random_stream random(o.seed, "prompts", index);
    auto& ids = j["prompt"] = nlohmann::ordered_json::array();
    for (uint32_t i = 0; i < o.prompt_tokens; ++i) ids.push_back(random.below(o.token_bound));
  }
  made.body = json_text(j);
  return made;
}

completion_report measure_completions(const completion_load_options& o) { return completion_load(o).run(); }

int run_completion_load(const completion_load_options& o) {
  const char* wrong = nullptr;
  if (o.model.empty() && o.adapters.empty()) wrong = "give one --model, or --adapters";
  if (o.prompt.empty() && o.prompt_tokens == 0) wrong = "give a --prompt, or --prompt-tokens";
  if (!(o.rate > 0) && o.concurrency == 0) wrong = "give a --rate, or --concurrency";
  if (wrong) {
    report("load: {}", wrong);
    return exit_bad_input;
  }
  try {
    auto with_key = o;
    with_key.headers = with_api_key(std::move(with_key.headers), o.key_file);
    const auto report = measure_completions(with_key);
    fmt::print("{}", o.json ? completion_json(report) + "\n" : completion_table(report));
    return report.completed > 0 ? exit_done : exit_failed;
  } catch (const std::runtime_error& e) {
    report("load: {}", e.what());
    return load_exit_code(e);
  }
}

}  // namespace troupe
