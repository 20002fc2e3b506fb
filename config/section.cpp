// The keys of a table (reader.hpp).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <sstream>

#include "config/section_source.hpp"

namespace troupe {
namespace {

/// The written value, shortened for messages.
std::string written(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array_of_tables()) return "an array of tables";
  if (node.is_array()) return "an array";
  if (const auto* s = node.as_string()) {
    constexpr size_t longest = 60;
    if (s->get().size() > longest) return "a string of " + std::to_string(s->get().size()) + " bytes";
    return in_quotes(s->get());
  }
  if (const auto* x = node.as_floating_point()) return fmt::format("{:#}", x->get());
  std::ostringstream out;
  node.visit([&](const auto& x) {
    if constexpr (toml::is_value<decltype(x)>) out << x.get();
  });
  return node.is_boolean() ? (*node.value<bool>() ? "true" : "false") : out.str();
}

bool is_name(std::string_view s) {
  return !s.empty() && s.size() <= 64 && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

bool is_path_name(std::string_view s) {
  if (s.size() > 128) return false;
  for (;;) {
    const auto end = s.find('/');
    if (!is_name(s.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    s.remove_prefix(end + 1);
  }
}

std::string listed(std::span<const std::string_view> names) {
  constexpr size_t shown = 10;
  std::string out;
  for (const auto n : names.first(std::min(shown, names.size()))) {
    out += (out.empty() ? "" : ", ") + in_quotes(n);
  }
  return names.size() > shown ? out + ", ..." : out;
}

}  // namespace

section::section(reader& owner, std::unique_ptr<source> from, std::string path, setting_table& record)
    : owner_(owner), from_(std::move(from)), path_(std::move(path)), record_(record) {}

section::~section() = default;

void section::note(std::string_view key) {
  assert(std::find(asked_.begin(), asked_.end(), key) == asked_.end() && "every key is taken once");
  asked_.emplace_back(key);
}

bool section::has(std::string_view key) const { return from_->table && from_->table->contains(key); }

std::vector<std::string> section::keys() const {
  std::vector<std::string> out;
  if (from_->table != nullptr)
    for (const auto& [key, _] : *from_->table) out.emplace_back(key.str());
  return out;
}

std::string section::peek(std::string_view key) const {
  const auto* text = has(key) ? from_->table->get(key)->as_string() : nullptr;
  return text == nullptr ? "" : text->get();
}

bool section::has_table(std::string_view key) const { return has(key) && from_->table->get(key)->is_table(); }

bool section::has_array(std::string_view key) const { return has(key) && from_->table->get(key)->is_array(); }

file_position section::at(std::string_view key) const {
  if (has(key)) return place(owner_.file_, from_->table->get(key)->source().begin);
  return from_->header;
}

void section::refuse(std::string_view key, std::string_view what) {
  owner_.refuse(at(key), path_.empty() ? std::string{key} : fmt::format("{}.{}", path_, key), what);
}

void section::refuse(std::string_view what) { owner_.refuse(from_->header, path_, what); }

void section::must_be(std::string_view key, std::string_view expected, std::string_view more) {
  if (has(key)) {
    refuse(key, fmt::format("must be {}, not {}{}", expected, written(*from_->table->get(key)), more));
  } else {
    refuse(key, fmt::format("is missing; it must be {}", expected));
  }
}

setting& section::recorded(std::string_view key) {
  for (auto& s : record_.settings)
    if (s.key == key) return s;
  assert(false && "the key was taken");
  return record_.settings.emplace_back();
}

template <class T>
T section::keep(std::string_view key, T value) {
  record_.settings.push_back({std::string{key}, value, has(key) ? to_string(at(key)) : "default", {}});
  return value;
}

int64_t section::integer(std::string_view key, int64_t min, int64_t max, std::optional<int64_t> fallback) {
  note(key);
  if (!has(key) && fallback) return keep(key, *fallback);
  const auto* given = has(key) ? from_->table->get(key)->as_integer() : nullptr;
  if (given && given->get() >= min && given->get() <= max) return keep(key, given->get());
  must_be(key, fmt::format("an integer in {}..{}", min, max));
  return keep(key, fallback.value_or(min));
}

double section::number(std::string_view key, std::string_view unit, double min, double max,
                       std::optional<double> fallback) {
  note(key);
  if (!has(key) && fallback) return keep(key, *fallback);
  const auto* node = has(key) ? from_->table->get(key) : nullptr;
  if (node && (node->is_integer() || node->is_floating_point())) {
    const double x = *node->value<double>();
    if (std::isfinite(x) && x >= min && x <= max) return keep(key, x + 0.0);  // no negative zero
  }
  must_be(key, fmt::format("{} in {}..{}", unit, min, max));
  return keep(key, fallback.value_or(min));
}

duration section::span_of_time(std::string_view key, std::string_view unit, double unit_ms, double min,
                               double max, std::optional<double> fallback) {
  return from_ms(number(key, unit, min, max, fallback) * unit_ms);
}

duration section::microseconds(std::string_view key, double min, double max, std::optional<double> fallback) {
  return span_of_time(key, "microseconds", 1e-3, min, max, fallback);
}

duration section::milliseconds(std::string_view key, double min, double max, std::optional<double> fallback) {
  return span_of_time(key, "milliseconds", 1, min, max, fallback);
}

duration section::seconds(std::string_view key, double min, double max, std::optional<double> fallback) {
  return span_of_time(key, "seconds", 1e3, min, max, fallback);
}

std::string section::text(std::string_view key, std::optional<std::string> fallback,
                          std::string_view expected) {
  note(key);
  if (!has(key) && fallback) return keep(key, *fallback);
  if (const auto* given = has(key) ? from_->table->get(key)->as_string() : nullptr) {
    const auto& value = given->get();
    const bool may_be_empty = fallback && fallback->empty();
    // A NUL would truncate the text in system calls.
    if ((may_be_empty || !value.empty()) && value.find('\0') == std::string::npos) return keep(key, value);
  }
  must_be(key, expected);
  return keep(key, fallback.value_or(""));
}

bool section::flag(std::string_view key, bool fallback) {
  note(key);
  if (!has(key)) return keep(key, fallback);
  if (const auto* given = from_->table->get(key)->as_boolean()) return keep(key, given->get());
  must_be(key, "true or false");
  return keep(key, fallback);
}

std::vector<std::string> section::texts(std::string_view key) {
  note(key);
  std::vector<std::string> out;
  if (!has(key)) return out;
  const auto* given = from_->table->get(key)->as_array();
  bool good = given != nullptr;
  for (size_t i = 0; good && i < given->size(); ++i) {
    const auto* text = given->get(i)->as_string();
    good = text != nullptr && !text->get().empty();
    if (good) out.push_back(text->get());
  }
  if (!good) {
    must_be(key, "an array of strings");
    out.clear();
  }
  return keep(key, out);
}

std::vector<double> section::numbers(std::string_view key, std::string_view unit, double min, double max,
                                     std::optional<std::vector<double>> fallback) {
  note(key);
  std::vector<double> out;
  if (!has(key)) return fallback ? keep(key, *fallback) : out;
  const auto expected = fmt::format("an array of {} in {}..{}", unit, min, max);
  const auto* given = from_->table->get(key)->as_array();
  if (given == nullptr) {
    must_be(key, expected);
    return keep(key, out);
  }
  for (const auto& element : *given) {
    const auto x = element.value<double>();
    if (x && std::isfinite(*x) && *x >= min && *x <= max) {
      out.push_back(*x);
    } else {
      owner_.refuse(place(owner_.file_, element.source().begin),
                    path_.empty() ? std::string{key} : fmt::format("{}.{}", path_, key),
                    fmt::format("holds {}; it must be {}", written(element), expected));
    }
  }
  if (out.size() < given->size()) out.clear();
  return keep(key, out);
}

std::string section::name(std::string_view key, std::optional<std::string> fallback) {
  note(key);
  if (!has(key) && fallback) return keep(key, *fallback);
  const auto* given = has(key) ? from_->table->get(key)->as_string() : nullptr;
  if (given && is_name(given->get())) return keep(key, given->get());
  must_be(key, "a name of up to 64 letters, digits, '_', '-' and '.'");
  return keep(key, fallback.value_or(""));
}

std::string section::path_name(std::string_view key) {
  note(key);
  const auto* given = has(key) ? from_->table->get(key)->as_string() : nullptr;
  if (given && is_path_name(given->get())) return keep(key, given->get());
  must_be(
      key,
      "a name of up to 64 letters, digits, '_', '-' and '.', or several joined by '/' to 128 characters at "
      "most");
  return keep(key, std::string());
}

std::optional<size_t> section::find_choice(std::string_view key, std::span<const std::string_view> choices,
                                           std::string_view expected) {
  const auto* given = has(key) ? from_->table->get(key)->as_string() : nullptr;
  const auto found = given ? std::find(choices.begin(), choices.end(), given->get()) : choices.end();
  if (found != choices.end()) return static_cast<size_t>(found - choices.begin());
  const auto near = given ? nearest(given->get(), choices) : std::string_view{};
  must_be(key, expected.empty() ? "one of " + listed(choices) : std::string{expected},
          near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
  return {};
}

size_t section::choice(std::string_view key, std::span<const std::string_view> choices, size_t fallback,
                       std::string_view expected) {
  assert(fallback < choices.size());
  note(key);
  const auto chosen = has(key) ? find_choice(key, choices, expected).value_or(fallback) : fallback;
  keep(key, std::string{choices[chosen]});
  return chosen;
}

std::optional<size_t> section::choice(std::string_view key, std::span<const std::string_view> choices) {
  note(key);
  const auto chosen = find_choice(key, choices, {});
  if (chosen) keep(key, std::string{choices[*chosen]});
  return chosen;
}

std::vector<size_t> section::choices(std::string_view key, std::span<const std::string_view> known,
                                     bool required) {
  note(key);
  if (!has(key) && !required) return {};
  const auto expected = fmt::format("an array of {}", listed(known));
  const auto* given = has(key) ? from_->table->get(key)->as_array() : nullptr;
  std::vector<size_t> chosen;
  std::vector<std::string> names;
  if (!given || given->empty()) {
    must_be(key, expected);
    return chosen;
  }
  for (const auto& element : *given) {
    const auto where = place(owner_.file_, element.source().begin);
    const auto full = path_.empty() ? std::string{key} : fmt::format("{}.{}", path_, key);
    const auto* text = element.as_string();
    const auto found = text ? std::find(known.begin(), known.end(), text->get()) : known.end();
    if (found == known.end()) {
      owner_.refuse(where, full,
                    fmt::format("holds {}{}", written(element),
                                text ? hint(text->get(), known) : "; it must be " + expected));
      continue;
    }
    const auto index = static_cast<size_t>(found - known.begin());
    if (std::find(chosen.begin(), chosen.end(), index) != chosen.end()) {
      owner_.refuse(where, full, fmt::format("holds {} twice; remove one", written(element)));
      continue;
    }
    chosen.push_back(index);
    names.emplace_back(*found);
  }
  keep(key, std::move(names));
  return chosen;
}

void section::unused(std::string_view key, std::string_view why) {
  note(key);
  if (has(key) && !why.empty()) refuse(key, why);
}

void section::ignore_rest() {
  if (!from_->table) return;
  for (const auto& [key, value] : *from_->table) asked_.emplace_back(key.str());
}

section& section::child(std::string_view key, std::unique_ptr<source> from, bool repeated) {
  auto& table = record_.tables.emplace_back();
  table.name = key;
  table.repeated = repeated;
  auto path = path_.empty() ? std::string{key} : fmt::format("{}.{}", path_, key);
  owner_.sections_.emplace_back(new section{owner_, std::move(from), std::move(path), table});
  return *owner_.sections_.back();
}

section* section::table(std::string_view key) {
  note(key);
  if (!has(key)) return nullptr;
  const auto* given = from_->table->get(key)->as_table();
  if (!given) {
    must_be(key, "a table");
    return nullptr;
  }
  return &child(key, std::make_unique<source>(given, at(key)), false);
}

section& section::table_or_empty(std::string_view key) {
  if (auto* given = table(key)) return *given;
  return child(key, std::make_unique<source>(nullptr, from_->header), false);
}

std::vector<section*> section::tables(std::string_view key) {
  note(key);
  std::vector<section*> out;
  if (!has(key)) return out;
  const auto full = path_.empty() ? std::string{key} : fmt::format("{}.{}", path_, key);
  const auto* given = from_->table->get(key)->as_array();
  if (!given || (!given->empty() && !given->is_array_of_tables())) {
    refuse(key, fmt::format("must be written as [[{}]], once for each", full));
    return out;
  }
  for (const auto& element : *given) {
    out.push_back(
        &child(key, std::make_unique<source>(element.as_table(), place(owner_.file_, element.source().begin)),
               true));
  }
  return out;
}

}  // namespace troupe
