// A request accepted by parse_completion is within its bounds and valid JSON, and reads back as the same
// after writing. Its body, streamed as generated text, ends at its stop strings, and every event is JSON.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "policies/llm/stop_strings.hpp"
#include "tests/fuzz/openai_again.hpp"
#include "transport/openai/completion_response.hpp"

namespace {

using namespace troupe;
using namespace troupe::openai;
using nlohmann::json;

json again(const completion_request& r) {
  auto j = shared_fields(r);
  j["prompt"] = json::array();
  for (const auto& p : r.prompts) std::visit([&](const auto& x) { j["prompt"].push_back(x); }, p);
  j["echo"] = r.echo;
  if (r.logprobs) j["logprobs"] = r.top_logprobs;
  return j;
}

void stream(const completion_request& r, std::string_view text) {
  const answer_stream events({completion_kind::completion, r.user, {}, r.model}, r.include_usage);
  stop_strings stops(r.stop, r.include_stop);
  std::string shown, out;
  const auto show = [&](const std::string& piece) {
    const token_report report{{piece, piece, -1}, {}, shown.size()};
    out.clear();
    events.append_delta(out, {0, piece, std::span(&report, 1), finish_reason::none});
    require(out.starts_with("data: ") && out.ends_with("\n\n") && json::accept(out.substr(6)));
    shown += piece;
  };
  for (size_t at = 0; at < text.size() && !stops.found(); at += 7) show(stops.add(text.substr(at, 7)));
  show(stops.finish());

  size_t end = text.size();  // of the first complete stop string
  for (const auto& s : r.stop)
    if (const auto at = text.find(s); at != text.npos) end = std::min(end, at + s.size());
  require(text.starts_with(shown) && shown.size() <= end);
  require(stops.found() || shown == text);
  if (r.include_stop && stops.found()) require(shown.size() == end);
  if (!r.include_stop)
    for (const auto& s : r.stop) require(shown.find(s) == shown.npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto request = parse_completion(body);
  if (!request) {
    check_refusal(request.error());
    return 0;
  }
  check_bounds(*request);
  require(!request->prompts.empty() && request->prompts.size() <= 128 && request->max_tokens.has_value());
  const auto second = parse_completion(again(*request).dump());
  require(second && *second == *request);
  stream(*request, body);
  return 0;
}
