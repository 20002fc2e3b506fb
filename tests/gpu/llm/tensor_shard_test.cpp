#include "gpu/llm/tensor_shard.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

struct matrix {
  explicit matrix(const weight_view& v) : rows(v.shape[0]), columns(v.shape.size() > 1 ? v.shape[1] : 1) {
    for (size_t i = 0; i < rows * columns; ++i) values.push_back(element_at(v.bytes.data(), v.type, i));
  }
  float at(size_t r, size_t c) const { return values[r * columns + c]; }
  size_t rows, columns;
  std::vector<float> values;
};

matrix matrix_of(const layer_parameters& layer, const std::string& name) {
  const parameter* p = layer.find(name);
  REQUIRE_MESSAGE(p != nullptr, name);
  return matrix(layer.view(*p));
}

/// Whether `shard` is the part of `whole` that begins at this row and column.
bool is_part(const matrix& shard, const matrix& whole, size_t row, size_t column) {
  if (row + shard.rows > whole.rows || column + shard.columns > whole.columns) return false;
  for (size_t r = 0; r < shard.rows; ++r)
    for (size_t c = 0; c < shard.columns; ++c)
      if (shard.at(r, c) != whole.at(row + r, column + c)) return false;
  return true;
}

/// scale (x A^T) B^T, of inputs from `first` on.
std::vector<double> adapted(const adapter_part& p, const std::vector<double>& x, size_t first) {
  const matrix a(p.a), b(p.b);
  std::vector<double> v(p.rank), y(b.rows);
  for (size_t r = 0; r < p.rank; ++r)
    for (size_t i = 0; i < a.columns; ++i) v[r] += double{a.at(r, i)} * x[first + i];
  for (size_t o = 0; o < b.rows; ++o)
    for (size_t r = 0; r < p.rank; ++r) y[o] += double{p.scale} * b.at(o, r) * v[r];
  return y;
}

}  // namespace

TEST_CASE("a shard of a layer has its rank's rows or columns of each matrix") {
  const checkpoint files(fixtures / "random-llms" / "qwen2-bias");  // 4 heads, 2 kv heads, MLP 288
  const model_config& config = files.config();
  const layer_parameters whole = files.read(1);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    CAPTURE(rank);
    const tensor_shard shard(config, rank, 2);
    CHECK(shard.config().heads == 2);
    CHECK(shard.config().kv_heads == 1);
    CHECK(shard.config().intermediate == 144);
    CHECK(shard.config().hidden == config.hidden);
    const layer_parameters part = shard.of(whole);
    CHECK(part.parameters.size() == whole.parameters.size());
    const size_t dim = config.head_dim;
    const auto check = [&](const char* name, size_t rows, size_t columns, size_t row, size_t column) {
      CAPTURE(name);
      const matrix m = matrix_of(part, name);
      CHECK(m.rows == rows);
      CHECK(m.columns == columns);
      CHECK(is_part(m, matrix_of(whole, name), row, column));
    };
    check("self_attn.q_proj.weight", 2 * dim, 128, rank * 2 * dim, 0);
    check("self_attn.q_proj.bias", 2 * dim, 1, rank * 2 * dim, 0);
    check("self_attn.k_proj.weight", dim, 128, rank * dim, 0);
    check("self_attn.v_proj.bias", dim, 1, rank * dim, 0);
    check("self_attn.o_proj.weight", 128, 2 * dim, 0, rank * 2 * dim);
    check("mlp.gate_proj.weight", 144, 128, rank * 144, 0);
    check("mlp.up_proj.weight", 144, 128, rank * 144, 0);
    check("mlp.down_proj.weight", 128, 144, 0, rank * 144);
    check("input_layernorm.weight", 128, 1, 0, 0);
    for (const parameter& p : part.parameters) CHECK(p.offset % 64 == 0);
    const layer_parameters embedding = files.read(0);
    CHECK(is_part(matrix_of(shard.of(embedding), "embed_tokens.weight"),
                  matrix_of(embedding, "embed_tokens.weight"), 0, 0));
  }
}

TEST_CASE("shards of a head are ranges of its rows, also of unequal size, and norms are complete") {
  const checkpoint files(fixtures / "random-llms" / "mistral-swa");  // 300 tokens
  const layer_parameters whole = files.read(files.layers() - 1);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    CAPTURE(rank);
    const tensor_shard shard(files.config(), rank, 4);
    CHECK(shard.config().vocabulary == 300);
    const layer_parameters part = shard.of(whole);
    const matrix head = matrix_of(part, "lm_head.weight");
    CHECK(head.rows == (rank < 3 ? 76 : 72));
    CHECK(head.columns == 128);
    CHECK(is_part(head, matrix_of(whole, "lm_head.weight"), rank * 76, 0));
    CHECK(matrix_of(part, "norm.weight").rows == 128);
  }
}

TEST_CASE("only the first rank has biases that are added after the all-reduce") {
  model_config config = checkpoint(fixtures / "random-llms" / "llama2-mha").config();
  layer_parameters layer;
  layer.parameters = {{"self_attn.o_proj.bias", element::f32, {config.hidden}, 0},
                      {"mlp.gate_proj.bias", element::f32, {config.intermediate}, 64 * 1024}};
  layer.blob = std::make_shared<aligned_bytes>(128 * 1024);
  CHECK(tensor_shard(config, 0, 2).of(layer).find("self_attn.o_proj.bias") != nullptr);
  CHECK(tensor_shard(config, 1, 2).of(layer).find("self_attn.o_proj.bias") == nullptr);
  CHECK(tensor_shard(config, 1, 2).of(layer).find("mlp.gate_proj.bias")->shape[0] == config.intermediate / 2);
}

TEST_CASE("the shards of an adapter, concatenated or summed, give the adapter's result") {
  const auto folder = fixtures / "random-llms" / "llama2-mha";
  const checkpoint files(folder);
  const model_config& config = files.config();
  const adapter whole = read_adapter(folder / "adapter", config);
  std::mt19937 random(3);
  std::vector<double> x(config.intermediate);
  for (double& v : x) v = static_cast<double>(random() % 2001) / 1000 - 1;
  for (size_t i = 0; i < whole.parts.size(); ++i) {
    const projection target = whole.parts[i].target;
    CAPTURE(name_of(target));
    std::vector<double> summed, joined;
    for (uint32_t rank = 0; rank < 2; ++rank) {
      const adapter part = tensor_shard(config, rank, 2).of(whole);
      REQUIRE(part.parts[i].target == target);
      const bool cut_input = target == projection::o || target == projection::down;
      const auto y = adapted(part.parts[i], x, cut_input ? rank * part.parts[i].a.shape[1] : 0);
      joined.insert(joined.end(), y.begin(), y.end());
      summed.resize(y.size());
      for (size_t o = 0; o < y.size(); ++o) summed[o] += y[o];
    }
    const auto expected = adapted(whole.parts[i], x, 0);
    const auto& got = target == projection::o || target == projection::down ? summed : joined;
    REQUIRE(got.size() == expected.size());
    double off = 0;
    for (size_t o = 0; o < got.size(); ++o) off = std::max(off, std::abs(got[o] - expected[o]));
    CHECK(off < 1e-9);
  }
}

TEST_CASE("adjacent ranks share a kv head if there are fewer kv heads than ranks") {
  const checkpoint files(fixtures / "random-llms" / "mistral-swa");  // 4 heads, 2 kv heads
  const layer_parameters whole = files.read(1);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const tensor_shard shard(files.config(), rank, 4);
    CHECK(shard.config().heads == 1);
    CHECK(shard.config().kv_heads == 1);
    CHECK(is_part(matrix_of(shard.of(whole), "self_attn.k_proj.weight"),
                  matrix_of(whole, "self_attn.k_proj.weight"), rank / 2 * files.config().head_dim, 0));
  }
}

TEST_CASE("a family with blocks unlike Llama's is not divided over devices") {
  const auto of = [](const char* name) { return read_model_config(fixtures / "random-llms" / name); };
  CHECK_THROWS_WITH_AS(tensor_shard(of("qwen3"), 0, 2),
                       "a model of the family qwen3 cannot be divided over 2 devices: it normalises queries "
                       "and keys; use device = \"cpu\"",
                       model_error);
  CHECK_THROWS_AS(tensor_shard(of("gemma2"), 0, 2), model_error);
  CHECK(tensor_shard(of("phi3"), 0, 2).config().heads == 2);
}

TEST_CASE("a model that cannot be divided evenly over its devices is refused") {
  model_config config = checkpoint(fixtures / "random-llms" / "llama2-mha").config();
  CHECK_THROWS_WITH_AS(tensor_shard(config, 0, 3), "4 heads cannot be divided over 3 devices", model_error);
  config.heads = config.kv_heads = 6, config.intermediate = 320;
  CHECK_THROWS_WITH_AS(tensor_shard(config, 0, 3), doctest::Contains("320 intermediate dimensions"),
                       model_error);
  config.kv_heads = 2;
  CHECK_THROWS_WITH_AS(tensor_shard(config, 0, 3), doctest::Contains("2 kv heads"), model_error);
}
