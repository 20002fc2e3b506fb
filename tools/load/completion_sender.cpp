#include "tools/load/completion_sender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/client/event_stream.hpp"
#include "tools/load/client.hpp"

namespace troupe {
namespace {

uint64_t number_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

/// Whether a choice got a token. Its text may be empty (the beginning of a character, a space before the
/// first); a final chunk without text has none.
bool has_token(const nlohmann::json& chunk) {
  const auto choices = chunk.find("choices");
  if (choices == chunk.end() || !choices->is_array()) return false;
  return std::ranges::any_of(*choices, [](const nlohmann::json& choice) {
    if (!choice.is_object()) return false;
    const auto text = choice.find("text"), end = choice.find("finish_reason");
    const bool says =
        text != choice.end() && text->is_string() && !text->get_ref<const std::string&>().empty();
    return says || end == choice.end() || end->is_null();
  });
}

}  // namespace

/// A completion in flight; used by the client's thread only.
struct completion_sender::pending {
  std::string model;
  completion_times times;
  std::string error = {};  // sent by the server as an event
  bool done = false;       // [DONE] was received

  void look_at(const std::string& data, time_point at) {
    times.ended = at;
    if (data == "[DONE]") {
      done = true;
      return;
    }
    const auto chunk = nlohmann::json::parse(data, nullptr, false);
    if (!chunk.is_object()) {
      error = "an event is not a JSON object";
      return;
    }
    if (chunk.contains("error")) error = "an error within the response";
    if (has_token(chunk)) times.tokens.push_back(at);
    if (const auto usage = chunk.find("usage"); usage != chunk.end() && usage->is_object()) {
      times.prompt_tokens = number_of(*usage, "prompt_tokens");
      times.output_tokens = number_of(*usage, "completion_tokens");
    }
  }

  /// Why it counts as failed; empty if it is complete.
  std::string failure(const event_stream_end& end) const {
    if (!error.empty()) return error;
    if (!end.error.empty()) return end.error;
    if (end.response.status != 200) return fmt::format("HTTP {}", end.response.status);
    if (!end.streamed) return "the response is not an event stream";
    return done ? "" : "the response has no end";
  }
};

completion_sender::completion_sender(options o, ended on_ended)
    : options_(std::move(o)), on_ended_(std::move(on_ended)) {
  const auto url = parse_http_url(options_.url);
  if (!url) throw load_input_error(fmt::format("\"{}\" is not http://HOST:PORT", options_.url));
  path_ = url->path + "/v1/completions";
  client_ = std::make_unique<http_client>(http_client_options{.host = url->host,
                                                              .port = url->port,
                                                              .max_connections = options_.max_connections,
                                                              .timeout = options_.timeout});
}

completion_sender::~completion_sender() { wait_below(1); }

void completion_sender::send(call c, time_point at) {
  {
    std::lock_guard lock(mutex_);
    ++in_flight_;
  }
  const auto p = std::make_shared<pending>();
  p->model = std::move(c.model);
  p->times.sent = at;
  p->times.ttft_target = c.ttft_target;
  http_request request{
      .method = "POST", .path = path_, .query = {}, .headers = options_.headers, .body = std::move(c.body)};
  for (const auto& [name, value] : c.headers) request.headers.add(name, value);
  post_for_events(*client_, std::move(request),
                  {[p](const std::string& data, time_point came) {
                     p->look_at(data, came);
                     return true;
                   },
                   [this, p](const event_stream_end& how) { end(*p, p->failure(how)); }});
}

void completion_sender::end(pending& p, const std::string& error) {
  if (p.times.output_tokens == 0) p.times.output_tokens = p.times.tokens.size();  // no usage
  on_ended_({p.model, p.times, error});
  std::lock_guard lock(mutex_);
  --in_flight_;
  changed_.notify_all();
}

size_t completion_sender::in_flight() const {
  std::lock_guard lock(mutex_);
  return in_flight_;
}

void completion_sender::wait_below(size_t limit) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return in_flight_ < limit; });
}

}  // namespace troupe
