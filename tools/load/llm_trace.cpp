#include "tools/load/llm_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "gpu/checkpoint/shown_name.hpp"
#include "messages/common/json_text.hpp"

namespace troupe {
namespace {

constexpr size_t longest_line = 1 << 20;
constexpr uint32_t max_trace_tokens = 1 << 24;
constexpr double longest_s = 10 * 365 * 86'400.0;  // of a trace

/// A line and its position.
struct place {
  const std::string& name;
  uint64_t line = 0;
  [[noreturn]] void refuse(const std::string& what) const {
    throw llm_trace_error(fmt::format("{}:{}: {}", name, line, what));
  }
};

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (;;) {
    const auto comma = line.find(',');
    out.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    line.remove_prefix(comma + 1);
  }
}

/// Parses the whole text as a number.
template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (bad != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

uint32_t tokens(std::string_view text, std::string_view column, const place& at) {
  const auto n = number<double>(text);  // some files have 12.0
  if (!n || !(*n >= 0) || *n > max_trace_tokens || *n != std::floor(*n))
    at.refuse(fmt::format("{} must be a number of tokens, not {}", column, llm::shown_name(text)));
  return static_cast<uint32_t>(*n);
}

/// "2023-11-16 18:15:46.6805900", with or without a zone, which is the same in every line.
std::optional<duration> since_epoch(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T') ||
      text[13] != ':' || text[16] != ':')
    return {};
  const auto part = [&](size_t from, size_t length) { return number<int>(text.substr(from, length)); };
  const auto year = part(0, 4), month = part(5, 2), day = part(8, 2), hour = part(11, 2),
             minute = part(14, 2);
  auto rest = text.substr(17);
  rest = rest.substr(0, rest.find_first_of("+-Z"));
  const auto second = number<double>(rest);
  if (!year || !month || !day || !hour || !minute || !second || !(*second >= 0 && *second < 61)) return {};
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok() || *year < 1970 || *year > 2200 || *hour < 0 || *hour > 23 || *minute < 0 || *minute > 59)
    return {};
  return std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute) + from_ms(*second * 1e3);
}

/// The used columns of a CSV file.
struct columns {
  std::string_view format;
  size_t time = 0, prompt = 0, output = 0, count = 0;
};

std::optional<columns> columns_of(std::string_view header) {
  const auto cells = cells_of(header);
  const auto find = [&](std::string_view name) {
    return static_cast<size_t>(std::ranges::find(cells, name) - cells.begin());
  };
  for (const columns c :
       {columns{"azure", find("TIMESTAMP"), find("ContextTokens"), find("GeneratedTokens"), 0},
        columns{"burstgpt", find("Timestamp"), find("Request tokens"), find("Response tokens"), 0}})
    if (std::max({c.time, c.prompt, c.output}) < cells.size())
      return columns{c.format, c.time, c.prompt, c.output, cells.size()};
  return {};
}

traced_generation of_csv(std::string_view line, const columns& c, const place& at) {
  const auto cells = cells_of(line);
  if (cells.size() != c.count)
    at.refuse(fmt::format("has {} cells, the first line has {}", cells.size(), c.count));
  traced_generation row;
  const auto time = cells[c.time];
  if (c.format == "azure") {
    const auto then = since_epoch(time);
    if (!then)
      at.refuse(fmt::format("TIMESTAMP must be as 2023-11-16 18:15:46.68, not {}", llm::shown_name(time)));
    row.at = *then;
  } else {
    const auto seconds = number<double>(time);
    if (!seconds || !(*seconds >= 0) || *seconds > longest_s)
      at.refuse(fmt::format("Timestamp must be seconds, not {}", llm::shown_name(time)));
    row.at = from_ms(*seconds * 1e3);
  }
  row.prompt_tokens = tokens(cells[c.prompt], "the prompt", at);
  row.output_tokens = tokens(cells[c.output], "the answer", at);
  return row;
}

double json_number(const nlohmann::json& j, const char* key, double min, double max, const place& at) {
  const auto found = j.find(key);
  if (found == j.end()) at.refuse(fmt::format("'{}' is missing", key));
  if (!found->is_number() || !(found->get<double>() >= min) || found->get<double>() > max)
    at.refuse(fmt::format("'{}' must be a number from {} to {}", key, min, max));
  return found->get<double>();
}

std::string json_string(const nlohmann::json& j, const char* key, const place& at) {
  const auto found = j.find(key);
  if (found == j.end() || found->is_null()) return {};
  if (!found->is_string() || found->get_ref<const std::string&>().size() > 1024)
    at.refuse(fmt::format("'{}' must be a string of at most 1024 bytes", key));
  return found->get<std::string>();
}

traced_generation of_json(std::string_view line, const place& at) {
  const auto j = nlohmann::json::parse(line, nullptr, false);
  if (!j.is_object()) at.refuse("is not a JSON object");
  traced_generation row;
  row.at = from_ms(json_number(j, "timestamp", 0, longest_s * 1e3, at));
  row.prompt_tokens = static_cast<uint32_t>(json_number(j, "input_length", 0, max_trace_tokens, at));
  row.output_tokens = static_cast<uint32_t>(json_number(j, "output_length", 0, max_trace_tokens, at));
  if (const auto ids = j.find("hash_ids"); ids != j.end() && !ids->is_null()) {
    if (!ids->is_array() || !std::ranges::all_of(*ids, [](const auto& i) { return i.is_number_unsigned(); }))
      at.refuse("'hash_ids' must be a list of whole numbers of 0 or more");
    row.blocks = ids->template get<std::vector<uint64_t>>();
  }
  row.adapter = json_string(j, "adapter", at);
  row.tenant = json_string(j, "tenant", at);
  if (j.contains("slo_ms")) row.slo = from_ms(json_number(j, "slo_ms", 1e-3, 86'400'000, at));
  if (j.contains("priority")) row.priority = static_cast<int32_t>(json_number(j, "priority", -1e6, 1e6, at));
  return row;
}

/// False: at the end of the file.
bool next_line(std::istream& in, std::string& line, place& at) {
  line.clear();
  ++at.line;
  char c = 0;
  while (in.get(c) && c != '\n') {
    if (line.size() == longest_line) at.refuse("is longer than 1 MiB");
    line += c;
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (in.bad()) at.refuse("cannot be read");
  return !line.empty() || in.good();
}

}  // namespace

llm_trace read_llm_trace(std::istream& in, const std::string& name, uint64_t max_rows) {
  llm_trace out;
  place at{name};
  std::string line;
  next_line(in, line, at);
  if (line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // a byte order mark
  const auto csv = columns_of(line);
  if (!csv && !line.starts_with('{'))
    at.refuse(
        "unknown trace format: a trace begins with TIMESTAMP,ContextTokens,GeneratedTokens (Azure), "
        "Timestamp,Model,Request tokens,... (BurstGPT), or a JSON object (Mooncake)");
  out.format = csv ? csv->format : "mooncake";
  for (bool more = csv ? next_line(in, line, at) : true; more; more = next_line(in, line, at)) {
    if (line.empty()) continue;
    if (out.rows.size() == max_rows) at.refuse(fmt::format("more than {} requests", max_rows));
    auto row = csv ? of_csv(line, *csv, at) : of_json(line, at);
    if (row.output_tokens == 0)
      ++out.without_answer;
    else if (row.prompt_tokens == 0)
      at.refuse("a request needs a prompt of at least one token");
    else
      out.rows.push_back(std::move(row));
  }
  if (out.rows.empty()) throw llm_trace_error(name + ": has no requests");
  std::ranges::stable_sort(out.rows, {}, &traced_generation::at);
  const auto first = out.rows.front().at;
  for (auto& r : out.rows) r.at -= first;
  return out;
}

llm_trace read_llm_trace_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw llm_trace_error(path + ": cannot be read: " + std::strerror(errno));
  return read_llm_trace(in, path);
}

std::string to_mooncake(const traced_generation& row) {
  nlohmann::ordered_json j{{"timestamp", std::llround(to_ms(row.at))},
                           {"input_length", row.prompt_tokens},
                           {"output_length", row.output_tokens},
                           {"hash_ids", row.blocks}};
  if (!row.adapter.empty()) j["adapter"] = row.adapter;
  if (!row.tenant.empty()) j["tenant"] = row.tenant;
  if (row.slo) j["slo_ms"] = to_ms(*row.slo);
  if (row.priority != 0) j["priority"] = row.priority;
  return json_text(j);
}

}  // namespace troupe
