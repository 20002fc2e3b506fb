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
  c.head_dim = 80;
  CHECK_THROWS_WITH_AS(shape_of(c, 16), doctest::Contains("head size is 80"), model_error);
  c.head_dim = 32, c.vocabulary = (1 << 20) + 1;
  CHECK_THROWS_WITH_AS(shape_of(c, 16), doctest::Contains("vocabulary"), model_error);
  c.vocabulary = 320, c.intermediate = 321;
  CHECK_THROWS_WITH_AS(shape_of(c, 16), doctest::Contains("multiples of 8"), model_error);
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
