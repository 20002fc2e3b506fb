#include "tools/load/client.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <thread>

#include "messages/tensor/shaped_tensors.hpp"
#include "tools/client/http_client.hpp"
#include "tools/client/http_key.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/input_file.hpp"
#include "tools/common/standard_streams.hpp"
#include "transport/kserve/v2.hpp"

namespace troupe {
namespace {

constexpr size_t distinct_inputs = 32;
constexpr uint64_t int64_range = 51;  // 0..50: within any embedding
constexpr size_t failure_messages = 8;

/// One model under load. The counts belong to the client thread until the run is over.
struct target {
  std::string name, path;
  model_metadata metadata;
  std::vector<written_body> bodies;  // taken in turn
  size_t next_body = 0;
  duration slo = duration::max();
  load_counts counts;
};

std::string get(http_client& client, const load_options& o, const std::string& path, std::string_view fix) {
  auto outcome = client.fetch({.path = path, .query = {}, .headers = o.headers, .body = {}});
  if (!outcome.answered()) throw load_error(fmt::format("{}; {}", outcome.error, fix));
  if (outcome.response.status == 401 || outcome.response.status == 403)
    fix = "give a key with access, with --key-file or in TROUPE_API_KEY";
  if (outcome.response.status != 200)
    throw load_error(fmt::format("GET {} answered {}: {}; {}", path, outcome.response.status,
                                 outcome.response.body.substr(0, 200), fix));
  return std::move(outcome.response.body);
}

std::vector<std::string> served_models(http_client& client, const load_options& o) {
  const auto body =
      get(client, o, "/v2/models", "is this a Troupe cluster? Otherwise give the models with --model");
  std::vector<std::string> names;
  const auto j = nlohmann::json::parse(body, nullptr, false);
  if (j.is_object() && j.contains("models") && j["models"].is_array())
    for (const auto& m : j["models"])
      if (m.is_object() && m.contains("name") && m["name"].is_string()) names.push_back(m["name"]);
  if (names.empty()) throw load_error("GET /v2/models lists no model; give one with --model");
  // A model with several shapes: each of them is listed, too, and can be asked, but for the one of any shape.
  std::set<std::string> shaped;
  for (const auto& n : names)
    if (const auto at = n.find('@'); at != std::string::npos) shaped.insert(n.substr(0, at));
  std::erase_if(names, [&](const std::string& n) { return shaped.contains(n) || n.ends_with("@any"); });
  return names;
}

template <class T>
void put(std::vector<std::byte>& out, T value) {
  const auto at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

/// Of a number that is 0 or of magnitude 0.001 to 1; further digits are cut off.
uint16_t half_bits(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (x == 0) return 0;
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 |
                               (bits >> 13 & 0x3ff));
}

void put_random(std::vector<std::byte>& out, data_type type, random_stream& random) {
  const double uniform = std::round(random.uniform() * 2000 - 1000) / 1000;  // short as text
  const auto whole = random.below(int64_range);
  switch (type) {
    case data_type::boolean: return put(out, static_cast<uint8_t>(whole % 2));
    case data_type::fp16: return put(out, half_bits(static_cast<float>(uniform)));
    case data_type::bf16:
      return put(out, static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(uniform)) >> 16));
    case data_type::fp32: return put(out, static_cast<float>(uniform));
    case data_type::fp64: return put(out, uniform);
    default:  // any integer: little-endian, so the low bytes come first
      for (size_t i = 0; i < size_of(type); ++i) put(out, static_cast<uint8_t>(i == 0 ? whole : 0));
  }
}

std::vector<std::byte> random_input(const model_signature& s, uint32_t rows, random_stream& random) {
  std::vector<std::byte> bytes;
  bytes.reserve(rows * input_row_bytes(s));
  for (const auto& t : s.inputs)
    for (int64_t i = 0; i < rows * elements(t); ++i) put_random(bytes, t.type, random);
  return bytes;
}

/// Rows [first, first + rows) of a file of whole rows, which repeats at its end. A file row is one row of
/// every input; a request has all rows of its first input before those of its second.
std::vector<std::byte> file_input(const std::vector<char>& file, const model_signature& s, uint32_t rows,
                                  size_t first) {
  const size_t row = input_row_bytes(s);
  std::vector<std::byte> bytes;
  size_t offset = 0;
  for (const auto& t : s.inputs) {
    for (size_t r = first; r < first + rows; ++r) {
      const auto* from =
          reinterpret_cast<const std::byte*>(file.data()) + r % (file.size() / row) * row + offset;
      bytes.insert(bytes.end(), from, from + row_bytes(t));
    }
    offset += row_bytes(t);
  }
  return bytes;
}

/// As the elements of BYTES.
std::vector<std::byte> repeated(const std::vector<char>& file, int64_t times) {
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < times; ++i) {
    put(bytes, static_cast<uint32_t>(file.size()));
    const auto content = std::as_bytes(std::span(file));
    bytes.insert(bytes.end(), content.begin(), content.end());
  }
  return bytes;
}

/// Gives the inputs the shapes of `given`. Throws load_input_error if a dimension stays free.
void fix_shapes(const std::string& model, model_signature& s, const std::vector<input_shape>& given) {
  for (auto& t : s.inputs) {
    if (!has_free_dimension(t) || t.type == data_type::bytes) continue;
    const auto* shape = find_input(given, t.name);
    if (shape == nullptr || !fits(t, shape->dims))
      throw load_input_error(fmt::format(
          "model {}: input '{}' has the shape [{}]{}, with free dimensions; give them all: --shape {}=...",
          model, t.name, fmt::join(t.shape, ","), s.batched ? " of a row" : "", t.name));
    t.shape = shape->dims;
  }
}

/// `file`: the content of o.input, if that is not empty.
std::vector<written_body> make_bodies(const load_options& o, const std::vector<char>& file, const target& t,
                                      uint64_t index) {
  const auto& s = t.metadata.signature;
  const bool takes_bytes =
      std::ranges::any_of(s.inputs, [](const auto& x) { return x.type == data_type::bytes; });
  if (!o.input.empty() && file.empty()) throw load_input_error(o.input + ": is empty");
  if (takes_bytes && (file.empty() || s.inputs.size() != 1))
    throw load_input_error(
        fmt::format("model {} takes BYTES, such as images: give one file for all rows with --input, if it is "
                    "the only input",
                    t.name));
  const auto row = takes_bytes ? file.size() : input_row_bytes(s);
  if (!o.input.empty() && (row == 0 || file.size() % row != 0))
    throw load_input_error(
        fmt::format("{}: {} bytes are not a whole number of rows of model {}, with {} bytes per row", o.input,
                    file.size(), t.name, row));
  random_stream random(o.seed, "inputs", index);
  std::vector<written_body> bodies;
  for (size_t i = 0; i < (takes_bytes ? 1 : distinct_inputs); ++i) {
    const auto input = takes_bytes    ? repeated(file, o.rows * elements(s.inputs[0]))
                       : file.empty() ? random_input(s, o.rows, random)
                                      : file_input(file, s, o.rows, i * o.rows);
    auto body = format_infer_request(s, o.rows, input, o.slo_ms > 0 ? std::optional(o.slo_ms) : std::nullopt);
    if (!body) throw load_error(fmt::format("model {}: {}", t.name, body.error().message));
    bodies.push_back(std::move(*body));
  }
  return bodies;
}

target make_target(const load_options& o, const std::vector<char>& file, http_client& client,
                   const std::string& name, uint64_t index) {
  target t;
  t.name = name;
  const auto path = "/v2/models/" + name;
  t.path = path + "/infer";
  auto metadata = parse_model_metadata(get(client, o, path, "is the model served there?"));
  if (!metadata) throw load_error(fmt::format("GET {}: {}", path, metadata.error().message));
  t.metadata = std::move(*metadata);
  fix_shapes(name, t.metadata.signature, o.shapes);
  const double slo_ms = o.slo_ms > 0 ? o.slo_ms : t.metadata.limits.slo_ms;
  if (slo_ms > 0) t.slo = from_ms(slo_ms);
  t.bodies = make_bodies(o, file, t, index);
  return t;
}

std::optional<uint64_t> batch_rows_of(std::string_view body) {
  static constexpr std::string_view key = "\"batch_rows\":";
  const auto at = body.substr(0, 4096).find(key);  // our server writes it before the data
  if (at == std::string_view::npos) return {};
  const auto digits = body.substr(at + key.size(), 20);
  uint64_t rows = 0;
  const auto ec = std::from_chars(digits.data(), digits.data() + digits.size(), rows).ec;
  return ec == std::errc{} ? std::optional(rows) : std::nullopt;
}

std::string drop_reason_of(const http_response& r) {
  const auto j = nlohmann::json::parse(r.body, nullptr, false);
  if (j.is_object() && j.contains("reason") && j["reason"].is_string()) return j["reason"];
  return fmt::format("HTTP {}", r.status);
}

void count_failure(load_counts& c, std::string message) {
  ++c.failed;
  if (c.failures.size() >= failure_messages && !c.failures.contains(message)) message = "others";
  ++c.failures[message];
}

void count(target& t, const http_outcome& outcome, duration latency) {
  auto& c = t.counts;
  if (!outcome.answered()) return count_failure(c, outcome.error);
  const auto& r = outcome.response;
  if (r.status == 429 || r.status == 503 || r.status == 504) {
    ++c.dropped;
    ++c.reasons[drop_reason_of(r)];
    return;
  }
  if (r.status != 200) return count_failure(c, fmt::format("HTTP {}: {}", r.status, r.body.substr(0, 200)));
  ++c.finished;
  c.good += latency <= t.slo;
  c.latency.add(latency);
  if (const auto rows = batch_rows_of(r.body)) {
    ++c.batched;
    c.batch_rows += *rows;
  }
}

http_request next_request(target& t) {
  const auto& [body, json_bytes] = t.bodies[t.next_body++ % t.bodies.size()];
  http_request request{.method = "POST",
                       .path = t.path,
                       .query = {},
                       .headers = {{"Content-Type", "application/json"}},
                       .body = body};
  if (json_bytes) request.headers.add("Inference-Header-Content-Length", std::to_string(*json_bytes));
  return request;
}

}  // namespace

int load_exit_code(const std::runtime_error& e) {
  const bool bad_input = dynamic_cast<const load_input_error*>(&e) != nullptr ||
                         dynamic_cast<const api_key_error*>(&e) != nullptr;
  return bad_input ? exit_bad_input : exit_failed;
}

load_report measure_load(const load_options& o) {
  const auto url = parse_http_url(o.url);
  if (!url) throw load_input_error(fmt::format("\"{}\" is not http://HOST:PORT", o.url));
  input_file input;
  if (!o.input.empty()) input = read_input_file(o.input);
  if (!input.error.empty()) throw load_input_error(fmt::format("{}: {}", o.input, input.error));
  http_client client(
      {.host = url->host, .port = url->port, .max_connections = o.max_connections, .timeout = o.timeout});

  std::vector<target> targets;
  const auto names = o.models.empty() ? served_models(client, o) : o.models;
  for (const auto& name : names) targets.push_back(make_target(o, input.bytes, client, name, targets.size()));

  const machine_clock clock;
  const auto start = clock.now();
  auto spec = o.arrivals;
  spec.rate /= static_cast<double>(targets.size());
  std::vector<arrival_process> arrivals;
  std::vector<time_point> due;
  for (uint64_t i = 0; i < targets.size(); ++i) {
    arrivals.emplace_back(spec, start, random_stream(o.seed, "arrivals", i));
    due.push_back(arrivals.back().next());
  }

  load_report report{.models = {}, .length = o.length};
  std::atomic<uint64_t> in_flight{0};
  for (;;) {
    const auto i = static_cast<size_t>(std::min_element(due.begin(), due.end()) - due.begin());
    const auto at = due[i];
    if (at >= start + o.length) break;
    std::this_thread::sleep_for(at - clock.now());
    report.worst_lag = std::max(report.worst_lag, clock.now() - at);
    auto& t = targets[i];
    ++t.counts.sent;  // written by this thread only
    ++in_flight;
    auto request = next_request(t);
    for (const auto& [name, value] : o.headers) request.headers.add(name, value);
    client.send(std::move(request), [&t, &o, &clock, &in_flight, at](http_outcome outcome) {
      const auto latency = clock.now() - at;
      count(t, outcome, latency);
      if (o.watch && outcome.answered()) o.watch(outcome.response, latency);
      --in_flight;
    });
    due[i] = arrivals[i].next();
  }
  while (in_flight > 0) std::this_thread::sleep_for(1ms);

  for (auto& t : targets)
    report.models.push_back({.name = t.name,
                             .slo_ms = t.slo == duration::max() ? 0 : to_ms(t.slo),
                             .counts = std::move(t.counts)});
  return report;
}

int run_load(const load_options& o) {
  const auto& a = o.arrivals;
  if (!(a.rate > 0) || !(a.cv > 0) || o.length <= duration{} || o.rows == 0 || o.slo_ms < 0 ||
      o.max_connections == 0) {
    report(
        "load: --rate, --cv, --duration and --rows must be positive, --slo-ms not "
        "negative");
    return exit_bad_input;
  }
  try {
    auto with_key = o;
    with_key.headers = with_api_key(std::move(with_key.headers), o.key_file);
    const auto report = measure_load(with_key);
    fmt::print("{}", o.json ? load_json(report) + "\n" : load_table(report));
    return report.total().finished > 0 ? exit_done : exit_failed;
  } catch (const std::runtime_error& e) {
    report("load: {}", e.what());
    return load_exit_code(e);
  }
}

}  // namespace troupe
