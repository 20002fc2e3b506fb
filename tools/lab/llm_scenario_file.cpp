#include "tools/lab/llm_scenario_file.hpp"

#include <fmt/format.h>

#include "config/step_profile_file.hpp"

namespace troupe::lab {

namespace {

void read_lengths(section& s, std::string_view key, token_lengths& out) {
  if (!s.has(key)) return s.unused(key);
  auto* l = s.table(key);
  if (l == nullptr) return;
  out.median = l->number("median", "tokens", 1, 1e6, out.median);
  out.sigma = l->number("sigma", "a number", 0, 10, out.sigma);
  out.max = static_cast<uint32_t>(l->integer("max", 1, 1 << 20, out.max));
}

void read_profile(section& s, const std::filesystem::path& directory, llm_scenario& out, bool given) {
  if (given && !s.has("profile")) return s.unused("profile");
  const auto file = directory / s.text("profile");
  const auto reading = read_step_profile(file);
  if (!s.has("profile")) return;
  if (!reading.problems.empty()) {
    s.refuse("profile", to_string(reading.problems.front()));
  } else if (reading.profile.kv_token_bytes == 0) {
    s.refuse("profile", file.string() + ": [kv] token_bytes is missing");
  }
  out.profile = reading.profile;
}

}  // namespace

void read_llm(section& root, const std::filesystem::path& directory, std::optional<llm_scenario>& out) {
  if (!root.has("llm")) return root.unused("llm");
  auto* s = root.table("llm");
  if (s == nullptr) return;
  const bool given = out.has_value();
  auto t = out.value_or(llm_scenario{});
  read_profile(*s, directory, t, given);
  t.engines = static_cast<uint32_t>(s->integer("engines", 1, 1024, t.engines));
  t.max_sequences = static_cast<uint32_t>(s->integer("max_sequences", 1, 4096, t.max_sequences));
  t.kv_gb = s->number("kv_gb", "gigabytes", 0.1, 1e4, t.kv_gb);
  t.adapter_slots = static_cast<uint32_t>(s->integer("adapter_slots", 1, 4096, t.adapter_slots));
  t.consolidate_every = s->seconds("consolidate_s", 0, 3600, to_seconds(t.consolidate_every));
  read_lengths(*s, "prompt_tokens", t.prompt);
  read_lengths(*s, "output_tokens", t.output);
  t.popularity = static_cast<adapter_popularity>(
      s->choice("popularity", adapter_popularity_names, static_cast<size_t>(t.popularity)));
  t.alpha = s->number("alpha", "a number", 1, 100, t.alpha);
  t.adapters = static_cast<uint32_t>(s->integer("adapters", 0, 1'000'000, t.adapters));
  if (s->has("peak_rps")) {
    t.peak_rps = s->number("peak_rps", "requests a second", 0.1, 1e6);
  } else {
    s->unused("peak_rps");
  }
  t.length = s->seconds("length_s", 1, 86'400, to_seconds(t.length));
  t.quick_length = s->seconds("quick_length_s", 1, 86'400, to_seconds(t.quick_length));
  const double positions =
      t.profile.kv_token_bytes > 0 ? t.kv_gb * 1e9 / static_cast<double>(t.profile.kv_token_bytes) : 1e9;
  if (positions < t.prompt.max + t.output.max)
    s->refuse("kv_gb", fmt::format("holds {:.0f} positions; the longest prompt and answer need {}", positions,
                                   t.prompt.max + t.output.max));
  out = t;
}

}  // namespace troupe::lab
