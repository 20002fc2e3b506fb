#include "gpu/llm/cuda/decoder_shape.hpp"

#include <doctest/doctest.h>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/common/model_error.hpp"
#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe;
using namespace troupe::cuda;

TEST_CASE("decoder shape: a model that the kernels do not support is rejected with the reason") {
  llm::model_config c = llm::checkpoint(llm::fixtures / "random-llms" / "llama2-mha").config();
  CHECK_NOTHROW(shape_of(c, 16));
  c.head_dim = 80, c.rope.frequencies.resize(40);
  CHECK_THROWS_WITH_AS(shape_of(c, 16), doctest::Contains("head size is 80"), model_error);
  c.head_dim = 32, c.rope.frequencies.resize(16), c.vocabulary = (1 << 20) + 1;
  CHECK_THROWS_WITH_AS(shape_of(c, 16), doctest::Contains("vocabulary"), model_error);
  c.vocabulary = 320, c.intermediate = 321;
  CHECK_THROWS_WITH_AS(shape_of(c, 16), doctest::Contains("multiples of 8"), model_error);
}

TEST_CASE("decoder shape: a family whose blocks the kernels lack is rejected by its name") {
  const auto refused = [](const char* name) -> std::string {
    try {
      shape_of(llm::read_model_config(llm::fixtures / "random-llms" / name), 16);
    } catch (const model_error& e) {
      return e.what();
    }
    return "";
  };
  const std::string begin = "the CUDA device cannot run this model: the family ",
                    end = "; use device = \"cpu\"";
  CHECK(refused("qwen3") == begin + "qwen3 normalises queries and keys" + end);
  CHECK(refused("gemma2") == begin + "gemma2 normalises the outputs of its layers" + end);
  CHECK(refused("gemma3") == begin + "gemma3_text normalises queries and keys" + end);
  CHECK(refused("mixtral") == begin + "mixtral has experts" + end);
  CHECK(refused("qwen3-moe") == begin + "qwen3_moe has experts" + end);
  CHECK(refused("phi3").empty());  // only its tensors are stored differently
  auto phi = llm::read_model_config(llm::fixtures / "random-llms" / "phi3");
  phi.rope.frequencies.pop_back();
  CHECK_THROWS_WITH_AS(shape_of(phi, 16), doctest::Contains("phi3 rotates a part of each head"), model_error);
  phi.rope.scale = 1.2F;
  CHECK_THROWS_WITH_AS(shape_of(phi, 16), doctest::Contains("phi3 scales its rotary embedding by LongRoPE"),
                       model_error);
}

TEST_CASE("decoder shape: a KV cache has as many blocks as fit into its bytes and as kernels can count") {
  const llm::model_config c = llm::checkpoint(llm::fixtures / "random-llms" / "llama2-mha").config();
  const uint64_t vectors = uint64_t{c.layers} * 2 * c.kv_heads * 16, block = vectors * c.head_dim * 2;
  const decoder_shape shape = shape_of(c, 16);
  CHECK(shape.page_bytes() == block);
  CHECK(kv_blocks(shape, 7 * block + block / 2) == 7);
  CHECK(kv_blocks(shape, ~uint64_t{0}) == ((uint64_t{1} << 32) - 1) / vectors);
  CHECK_THROWS_WITH_AS(kv_blocks(shape, block - 1), doctest::Contains("no room for one block"), model_error);
}
