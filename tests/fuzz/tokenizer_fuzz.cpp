// Reading any text as a tokenizer.json gives a tokenizer or a message; a tokenizer encodes any text and
// decodes to text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"
#include "gpu/tokenizer/bpe_tokenizer.hpp"
#include "gpu/tokenizer/detokenizer.hpp"
#include "gpu/tokenizer/tokenizer_json.hpp"
#include "gpu/tokenizer/utf8.hpp"

using namespace troupe;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void use(const std::shared_ptr<const llm::tokenizer>& t, std::string_view text, bool special) {
  std::vector<llm::token> ids;
  try {
    ids = t->encode(text, special, special);
  } catch (const request_refused&) {
    return;  // the pattern takes too long
  }
  for (const auto id : ids) require(id >= 0 && static_cast<uint32_t>(id) < t->vocabulary());
  ids.insert(ids.end(), {-1, static_cast<llm::token>(t->vocabulary()), static_cast<llm::token>(text.size())});
  const auto decoded = t->decode(ids, special);
  require(llm::is_utf8(decoded));
  llm::detokenizer d(t, {}, special);
  std::string streamed;
  for (const auto id : ids) streamed += d.add(id);
  require(streamed + d.finish() == decoded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::shared_ptr<const llm::tokenizer> t;
  try {
    t = std::make_shared<const llm::bpe_tokenizer>(llm::read_tokenizer_json(text, "fuzz.json"));
  } catch (const model_error&) {
    return 0;
  }
  // the beginning of the file has bytes of all kinds, its end the merges
  for (const bool special : {false, true}) {
    use(t,
        "Hello, w\xc3\xb6rld's 12345  \n\n <|eot|> e\xcc\x81 \xf0\x9f\x98\x80\xff "
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        special);
    use(t, text.substr(0, 200), special);
    use(t, text.substr(size - std::min<size_t>(size, 200)), special);
  }
  return 0;
}
