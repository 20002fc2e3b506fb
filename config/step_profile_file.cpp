#include "config/step_profile_file.hpp"

#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "config/reader.hpp"
#include "config/text_file.hpp"

namespace troupe {

step_profile_reading read_step_profile(const std::filesystem::path& file) {
  const auto text = read_text_file(file, pipes::refused);
  if (!text.error.empty()) return {{}, {about_file(file.string(), text.error)}};
  return read_step_profile_text(text.content, file.string());
}

step_profile_reading read_step_profile_text(std::string_view toml, const std::string& file) {
  reader r(toml, file);
  step_profile_reading out;
  using part = llm::step_latency::part;
  auto& step = r.root().table_or_empty("step");
  const auto microseconds = [&](std::string_view key) {
    return part(step.number(key, "µs", 0, 1e9, 0) * 1e3);
  };
  const auto nanoseconds = [&](std::string_view key) { return part(step.number(key, "ns", 0, 1e9, 0)); };
  auto& s = out.profile.step;
  s.fixed = microseconds("fixed_us");
  s.prefill_token = microseconds("prefill_token_us");
  s.prefill_context = nanoseconds("prefill_context_ns");
  s.decode = microseconds("decode_us");
  s.decode_context = nanoseconds("decode_context_ns");
  s.longest_context = nanoseconds("longest_context_ns");
  s.adapter_row = microseconds("adapter_row_us");
  s.adapter = microseconds("adapter_us");
  if (r.problem_count() == 0 && s(llm::shape_of({.tokens = {0},
                                                 .positions = {0},
                                                 .row_sequence = {0},
                                                 .sequences = {},
                                                 .block_start = {},
                                                 .blocks = {},
                                                 .segment_end = {},
                                                 .segment_adapters = {},
                                                 .sampled = {}})) <= duration::zero())
    step.refuse("fixed_us and decode_us cannot both be 0; give one");
  out.profile.kv_token_bytes =
      static_cast<uint64_t>(r.root().table_or_empty("kv").integer("token_bytes", 1, int64_t{1} << 32));
  out.profile.adapter_load = r.root().table_or_empty("adapter").milliseconds("load_ms", 0, 3'600'000, 0);
  out.problems = r.finish();
  return out;
}

std::string step_profile_text(const llm::llm_profile& profile, std::string_view about) {
  std::string out;
  std::istringstream lines{std::string(about)};
  for (std::string line; std::getline(lines, line);) out += fmt::format("# {}\n", line);
  const auto& s = profile.step;
  const auto us = [](llm::step_latency::part p) { return p.count() / 1e3; };
  out += "\n[step]\n";
  for (const auto& [key, value] : {std::pair{"fixed_us", us(s.fixed)},
                                   {"prefill_token_us", us(s.prefill_token)},
                                   {"prefill_context_ns", s.prefill_context.count()},
                                   {"decode_us", us(s.decode)},
                                   {"decode_context_ns", s.decode_context.count()},
                                   {"longest_context_ns", s.longest_context.count()},
                                   {"adapter_row_us", us(s.adapter_row)},
                                   {"adapter_us", us(s.adapter)}})
    out += fmt::format("{} = {:.6g}\n", key, value);
  out += fmt::format("\n[kv]\ntoken_bytes = {}\n\n[adapter]\nload_ms = {:.6g}\n", profile.kv_token_bytes,
                     to_ms(profile.adapter_load));
  return out;
}

}  // namespace troupe
