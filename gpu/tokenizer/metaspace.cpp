#include "gpu/tokenizer/metaspace.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

metaspace::prefixes read_prefixes(const json_place& place) {
  using enum metaspace::prefixes;
  const auto scheme = place.find("prepend_scheme");
  if (!scheme) return place.boolean("add_prefix_space", true) ? always : never;  // files from before 2024
  const auto& name = scheme->string();
  if (name == "never") return never;
  if (name == "first") return first;
  if (name == "always") return always;
  scheme->refuse(fmt::format("is '{}', which is not supported; supported: always, first and never", name));
}

}  // namespace

std::string metaspace::rewritten(std::string_view text, bool at_start) const {
  auto out = replaced(text, " ", symbol);
  const bool wanted = prefix == prefixes::always || (prefix == prefixes::first && at_start);
  if (wanted && !out.starts_with(symbol)) out.insert(0, symbol);
  return out;
}

void metaspace::each_word(std::string_view rewritten,
                          const std::function<void(std::string_view)>& use) const {
  while (!rewritten.empty()) {
    const auto from = rewritten.starts_with(symbol) ? symbol.size() : 0;
    const auto size = split ? std::min(rewritten.find(symbol, from), rewritten.size()) : rewritten.size();
    use(rewritten.substr(0, size));
    rewritten.remove_prefix(size);
  }
}

metaspace read_metaspace(const json_place& place) {
  metaspace out;
  const auto symbol = place.at("replacement");
  out.symbol = symbol.string();
  if (size_t length = 0;
      out.symbol.empty() || (first_character(out.symbol, length), length != out.symbol.size()))
    symbol.refuse("is not one character");
  out.prefix = read_prefixes(place);
  out.split = place.boolean("split", true);
  return out;
}

}  // namespace troupe::llm
