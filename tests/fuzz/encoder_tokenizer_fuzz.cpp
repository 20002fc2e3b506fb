// Reading any text as the tokenizer.json of an encoder gives a tokenizer or a message; a tokenizer encodes
// any text, and pairs of texts, within the given number of tokens.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"
#include "gpu/tokenizer/encoder_tokenizer.hpp"

using namespace troupe;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const llm::encoded_text& t, size_t most, uint32_t vocabulary) {
  require(t.ids.size() <= most && t.types.size() == t.ids.size());
  for (const auto id : t.ids) require(id >= 0 && static_cast<uint32_t>(id) < vocabulary);
}

void use(const llm::encoder_tokenizer& t, std::string_view text) {
  std::vector<llm::token> tokens;
  try {
    tokens = t.tokens(text);
  } catch (const request_refused&) {  // it grows too long, or a pattern takes too long
    return;
  }
  for (const size_t more : {0, 1, 5, 1000}) {
    const auto single = t.added(false) + more, pair = t.added(true) + more;
    check(t.encode(tokens, single), single, t.vocabulary());
    if (t.added(true) > 0) check(t.encode(tokens, tokens, pair), pair, t.vocabulary());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::shared_ptr<const llm::encoder_tokenizer> t;
  try {
    t = llm::make_encoder_tokenizer(text, "fuzz.json");
  } catch (const model_error&) {
    return 0;
  }
  use(*t,
      "Hello, W\xc3\xb6rld's 12345  \n\n [MASK] e\xcc\x81 \xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x98\x80\xff "
      "\xe2\x96\x81");
  use(*t, text.substr(0, 200));
  return 0;
}
