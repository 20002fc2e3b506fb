// A whole engine on an emulated GPU: continuous batching, adapters that come and go, golden texts.
#include "gpu/cuda/llm/cuda_model.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/gpu/cuda/emulated_machine.hpp"
#include "tests/gpu/llm/small_engine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

const std::filesystem::path tasks = std::filesystem::path(TROUPE_FIXTURES) / "llama-tasks";

template <element E>
llm::computing_options emulated_gpu(cuda_model_options options) {
  llm::computing_options out;
  out.folder = tasks / "base";
  out.adapter_slots = options.adapter_slots, out.adapter_bytes = 1 << 30;
  out.make = [options](const llm::model_config& config) -> std::unique_ptr<llm::step_model> {
    return std::make_unique<cuda_model<emulated_machine, E>>(std::make_unique<emulated_machine>(5), config,
                                                             options);
  };
  return out;
}

/// Every `stride`th golden text, of all adapters mixed, with fewer slots than adapters.
template <element E>
void check_texts(size_t stride) {
  llm::small_engine engine(emulated_gpu<E>({1 << 20, 4, 2, true}), {.max_sequences = 6, .prefill_chunk = 16});
  std::ifstream in(tasks / "golden.json");
  std::vector<std::vector<llm::token>> wanted;
  const auto golden = nlohmann::json::parse(in);
  for (size_t i = 0; i < golden.size(); i += stride) {
    llm::asked_text text{
        .prompt = golden[i]["prompt_ids"], .max_tokens = 40, .stop = engine.facts().end_of_text};
    if (!golden[i]["adapter"].is_null())
      text.adapter = (tasks / "adapters" / golden[i]["adapter"].template get<std::string>()).string();
    engine.add(std::move(text));
    wanted.push_back(golden[i]["output_ids"]);
  }
  engine.run();
  size_t right = 0;
  for (size_t i = 0; i < wanted.size(); ++i) right += engine.tokens(i) == wanted[i];
  CHECK(right == wanted.size());
  CHECK(engine.failed().empty());
}

}  // namespace

TEST_CASE("cuda model: golden texts of several adapters, batched, in bf16") { check_texts<element::bf16>(3); }

TEST_CASE("cuda model: golden texts of several adapters, batched, in f16") { check_texts<element::f16>(4); }

TEST_CASE("cuda model: a KV cache without room for a block is refused") {
  llm::waited_device d(emulated_gpu<element::bf16>({100, 16, 0, true}));
  const auto e = d.next();
  CHECK(e.what == llm::engine_event::kind::unusable);
  CHECK(e.problem.find("no room for one block of 16 tokens") != std::string::npos);
}
