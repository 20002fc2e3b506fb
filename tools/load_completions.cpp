#include "tools/load_completions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "messages/json_text.hpp"
#include "policies/arrivals.hpp"
#include "tools/event_stream.hpp"
#include "tools/http_client.hpp"
#include "tools/http_key.hpp"
#include "tools/load_client.hpp"

namespace troupe {
namespace {

constexpr duration pause_after_failure = 10ms;  // a server that refuses is not asked as fast as it can refuse

/// A completion on its way; touched by the client's thread only.
struct pending_completion {
  std::string model;
  completion_times times;
  std::string error;  // that the server sent as an event
  bool done = false;  // [DONE] came
};

uint64_t number_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

bool has_text(const nlohmann::json& chunk) {
  const auto choices = chunk.find("choices");
  if (choices == chunk.end() || !choices->is_array()) return false;
  return std::ranges::any_of(*choices, [](const nlohmann::json& choice) {
    const auto text = choice.is_object() ? choice.find("text") : choice.end();
    return text != choice.end() && text->is_string() && !text->get_ref<const std::string&>().empty();
  });
}

void look_at(pending_completion& p, const std::string& data, time_point at) {
  p.times.ended = at;
  if (data == "[DONE]") {
    p.done = true;
    return;
  }
  const auto chunk = nlohmann::json::parse(data, nullptr, false);
  if (!chunk.is_object()) {
    p.error = "an event that is no JSON object";
    return;
  }
  if (chunk.contains("error")) p.error = "an error amid the answer";
  if (has_text(chunk)) p.times.tokens.push_back(at);
  if (const auto usage = chunk.find("usage"); usage != chunk.end() && usage->is_object()) {
    p.times.prompt_tokens = number_of(*usage, "prompt_tokens");
    p.times.output_tokens = number_of(*usage, "completion_tokens");
  }
}

/// Why it counts as failed; empty if it is complete.
std::string failure_of(const pending_completion& p, const event_stream_end& end) {
  if (!p.error.empty()) return p.error;
  if (!end.error.empty()) return end.error;
  if (end.response.status != 200) return fmt::format("HTTP {}", end.response.status);
  if (!end.streamed) return "an answer that is no event stream";
  return p.done ? "" : "an answer without its end";
}

class completion_load {
 public:
  explicit completion_load(const completion_load_options& o, const http_url& url)
      : o_(o),
        path_(url.path + "/v1/completions"),
        start_(clock_.now()),
        client_({.host = url.host,
                 .port = url.port,
                 .max_connections = o.max_connections,
                 .timeout = o.timeout}) {
    report_.slo = o.slo;
  }

  completion_report run() {
    if (o_.rate > 0)
      send_when_due();
    else
      send_when_free();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return in_flight_ == 0; });
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
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return in_flight_ < o_.concurrency; });
      const bool refused = refused_;
      lock.unlock();
      if (refused) std::this_thread::sleep_for(pause_after_failure);
      if (clock_.now() >= start_ + o_.length) break;
      send(std::move(request), clock_.now());
    }
  }

  void send(completion_requests::request made, time_point at) {
    {
      std::lock_guard lock(mutex_);
      ++in_flight_;
      ++report_.sent;
      report_.worst_lag = std::max(report_.worst_lag, clock_.now() - at);
    }
    const auto pending = std::make_shared<pending_completion>();
    pending->model = std::move(made.model);
    pending->times.sent = at;
    http_request request{
        .method = "POST", .path = path_, .query = {}, .headers = o_.headers, .body = std::move(made.body)};
    post_for_events(client_, std::move(request),
                    {[pending](const std::string& data, time_point came) {
                       look_at(*pending, data, came);
                       return true;
                     },
                     [this, pending](const event_stream_end& end) { count(*pending, end); }});
  }

  void count(pending_completion& p, const event_stream_end& end) {
    const auto why = failure_of(p, end);
    if (p.times.output_tokens == 0) p.times.output_tokens = p.times.tokens.size();  // no usage
    std::lock_guard lock(mutex_);
    last_end_ = std::max(last_end_, clock_.now());
    refused_ = !why.empty();
    if (why.empty())
      report_.add(p.model, p.times);
    else
      report_.add_error(why);
    --in_flight_;
    changed_.notify_all();
  }

  const completion_load_options& o_;
  const completion_requests requests_{o_};
  const std::string path_;
  const machine_clock clock_;
  const time_point start_;
  std::mutex mutex_;
  std::condition_variable changed_;
  completion_report report_;
  time_point last_end_{start_};
  uint64_t in_flight_ = 0;
  bool refused_ = false;  // the last answer
  http_client client_;    // last: its thread uses the others
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

completion_report measure_completions(const completion_load_options& o) {
  const auto url = parse_http_url(o.url);
  if (!url) throw load_error(fmt::format("\"{}\" is no http://HOST:PORT", o.url));
  return completion_load(o, *url).run();
}

int run_completion_load(const completion_load_options& o) {
  const char* wrong = nullptr;
  if (o.model.empty() && o.adapters.empty()) wrong = "name one --model, or --adapters";
  if (o.prompt.empty() && o.prompt_tokens == 0) wrong = "give a --prompt, or --prompt-tokens";
  if (!(o.rate > 0) && o.concurrency == 0) wrong = "give a --rate, or --concurrency";
  if (wrong) {
    fmt::print(stderr, "load: {}\n", wrong);
    return 2;
  }
  try {
    auto with_key = o;
    with_key.headers = with_api_key(std::move(with_key.headers), o.key_file);
    const auto report = measure_completions(with_key);
    fmt::print("{}", o.json ? completion_json(report) + "\n" : completion_table(report));
    return report.completed > 0 ? 0 : 1;
  } catch (const std::runtime_error& e) {  // load_error, api_key_error
    fmt::print(stderr, "load: {}\n", e.what());
    return 1;
  }
}

}  // namespace troupe
