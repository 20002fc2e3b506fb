#include "gpu/tokenizer/detokenizer.hpp"

#include <algorithm>

#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

/// The text of a special token behind another one, where decoding strips no space.
std::string text_of_special(const tokenizer& tokenizer, token special) {
  return tokenizer.decode({special, special}, false).substr(tokenizer.decode({special}, false).size());
}

}  // namespace

detokenizer::detokenizer(std::shared_ptr<const tokenizer> t, const std::vector<token>& prompt,
                         bool skip_special)
    : tokenizer_(std::move(t)), skip_special_(skip_special) {
  for (auto at = prompt.begin(); at != prompt.end() && at_start_; ++at) bytes_of(*at);
}

std::string detokenizer::bytes_of(token t) {
  auto bytes = tokenizer_->piece(t);
  if (tokenizer_->is_special(t) && !skip_special_) bytes = text_of_special(*tokenizer_, t);
  if (!at_start_ || bytes.empty()) return bytes;
  // spaces that decoding strips at the beginning of a text
  head_.push_back(t);
  const auto shown = tokenizer_->decode(head_, skip_special_).size();
  const auto whole = replace_invalid(bytes).size();
  head_ = {t};  // earlier tokens without text have no further effect
  at_start_ = shown == 0;
  return bytes.substr(whole - std::min(whole, shown));
}

std::string detokenizer::add(token t) {
  held_ += bytes_of(t);
  const auto ready = held_.size() - incomplete_tail(held_);
  auto text = replace_invalid(std::string_view(held_).substr(0, ready));
  held_.erase(0, ready);
  return text;
}

std::string detokenizer::finish() {
  auto text = replace_invalid(held_);
  held_.clear();
  return text;
}

}  // namespace troupe::llm
