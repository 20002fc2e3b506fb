#include "gpu/tokenizer/split_pattern.hpp"

#include <fmt/format.h>

#include "gpu/common/model_error.hpp"
#include "gpu/common/pcre2.hpp"
#include "gpu/common/request_refused.hpp"
#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

using namespace pcre;

namespace {

// Patterns of tokenizers have a few hundred bytes.
constexpr size_t longest_pattern = 1 << 14;
// Limit of steps of one search from one place. The worst case of sound patterns is a run of as many spaces.
constexpr uint32_t max_split_steps = 4'000'000;
constexpr uint32_t max_split_heap_kib = 64 * 1024;
constexpr size_t jit_stack_bytes = 1 << 20;

/// State shared by the searches of one call.
class matcher {
 public:
  explicit matcher(const pcre2_code* code)
      : code_(code),
        data_(own(pcre2_match_data_create(1, nullptr))),
        context_(own(pcre2_match_context_create(nullptr))) {
    pcre2_set_match_limit(context_.get(), max_split_steps);
    pcre2_set_heap_limit(context_.get(), max_split_heap_kib);
  }

  std::optional<text_span> next(std::string_view text, size_t from, uint32_t options = 0) {
    auto found = match(text, from, options);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT && stack_ == nullptr) {
      stack_ = own(pcre2_jit_stack_create(jit_stack_bytes / 32, jit_stack_bytes, nullptr));
      pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
      found = match(text, from, options);
    }
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match(text, from, options | PCRE2_NO_JIT);
    if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
    if (found < 0)
      throw request_refused(fmt::format(
          "the tokenizer's pattern cannot split this text ({}): send a shorter one", message(found)));
    const auto* at = pcre2_get_ovector_pointer(data_.get());
    return text_span{at[0], at[1]};
  }

 private:
  int match(std::string_view text, size_t from, uint32_t options) {
    // UTF-8 was checked once for the whole text
    return pcre2_match(code_, bytes(text), text.size(), from, options | PCRE2_NO_UTF_CHECK, data_.get(),
                       context_.get());
  }

  const pcre2_code* code_;
  owned<pcre2_match_data> data_;
  owned<pcre2_match_context> context_;
  owned<pcre2_jit_stack> stack_;
};

}  // namespace

const char* const gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct split_pattern::compiled {
  owned<pcre2_code> code;
};

split_pattern::split_pattern(const std::string& pattern) {
  if (pattern.size() > longest_pattern)
    throw model_error(fmt::format("the pattern has {} bytes, more than {}", pattern.size(), longest_pattern));
  const auto context = own(pcre2_compile_context_create(nullptr));
  pcre2_set_parens_nest_limit(context.get(), 50);
  int error = 0;
  PCRE2_SIZE place = 0;
  owned<pcre2_code> code(pcre2_compile(bytes(pattern), pattern.size(),
                                       PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &place,
                                       context.get()));
  if (code == nullptr)
    throw model_error(
        fmt::format("PCRE2 cannot read the pattern '{}' at byte {}: {}", pattern, place, message(error)));
  pcre2_jit_compile(code.get(),
                    PCRE2_JIT_COMPLETE);  // may fail: then slower
  compiled_ = std::make_unique<const compiled>(compiled{std::move(code)});
}

split_pattern::~split_pattern() = default;
split_pattern::split_pattern(split_pattern&&) noexcept = default;

template <class Use>
void split_pattern::each_match(std::string_view text, Use use) const {
  matcher m(compiled_->code.get());
  for (size_t from = 0; from <= text.size();) {
    const auto match = m.next(text, from);
    if (!match) return;
    use(*match);
    from = match->end;
    if (match->end == match->begin) {
      size_t length = 1;
      if (from < text.size()) first_character(text.substr(from), length);
      from += length;
    }
  }
}

void split_pattern::split(std::string_view text, const std::function<void(std::string_view)>& piece) const {
  size_t done = 0;
  each_match(text, [&](const text_span& match) {  // an empty one still splits
    if (match.begin > done) piece(text.substr(done, match.begin - done));
    if (match.end > match.begin) piece(text.substr(match.begin, match.end - match.begin));
    done = match.end;
  });
  if (done < text.size()) piece(text.substr(done));
}

void split_pattern::matches(std::string_view text, const std::function<void(std::string_view)>& piece) const {
  each_match(text, [&](const text_span& match) {
    if (match.end > match.begin) piece(text.substr(match.begin, match.end - match.begin));
  });
}

std::optional<text_span> split_pattern::find(std::string_view text) const {
  return matcher(compiled_->code.get()).next(text, 0);
}

}  // namespace troupe::llm
