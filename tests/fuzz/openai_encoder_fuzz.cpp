// A body accepted by parse_embedding or parse_rerank is within its bounds, and its answer is JSON.
#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/fuzz/openai_again.hpp"
#include "transport/openai/embedding.hpp"
#include "transport/openai/rerank.hpp"

namespace {

using namespace troupe;
using namespace troupe::openai;
using nlohmann::json;

bool is_cut(const std::optional<int64_t>& tokens) { return !tokens || *tokens == -1 || *tokens > 0; }

void embed(const embedding_request& r) {
  require(!r.inputs.empty() && r.inputs.size() <= 2048 && r.dimensions != 0 && is_cut(r.truncate_tokens));
  for (const auto& i : r.inputs)
    if (const auto* tokens = std::get_if<std::vector<llm::token>>(&i)) {
      require(!tokens->empty());
      for (const auto t : *tokens) require(t >= 0);
    }
  const std::vector<std::vector<float>> all(r.inputs.size(), {0.5F, -1e30F});
  const auto answer = json::parse(format_embeddings(all, "1", r.model, r.base64, 7));
  require(answer["data"].size() == r.inputs.size());
}

void rerank(const rerank_request& r) {
  require(!r.documents.empty() && r.documents.size() <= 2048 && is_cut(r.truncate_tokens));
  const std::vector<float> scores(r.documents.size(), 0.5F);
  const auto answer = json::parse(format_rerank(r, scores, "1", r.model, 7));
  const auto wanted =
      r.top_n.value_or(0) == 0 ? r.documents.size() : std::min<size_t>(*r.top_n, scores.size());
  require(answer["results"].size() == wanted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (const auto r = parse_embedding(body))
    embed(*r);
  else
    check_refusal(r.error());
  if (const auto r = parse_rerank(body))
    rerank(*r);
  else
    check_refusal(r.error());
  return 0;
}
