#include "gpu/onnx/gelu.hpp"

#include <cmath>
#include <numbers>

namespace troupe::onnx {

namespace {

/// True if the constant is this one number in at most `rank` dimensions; more would change the result's rank.
bool is_scalar(const graph& g, const std::string& name, float expected, size_t rank) {
  const auto found = g.constants.find(name);
  if (found == g.constants.end()) return false;
  const auto& t = found->second;
  return t.type == data_type::fp32 && t.elements() == 1 && t.dims.size() <= rank &&
         std::abs(t.as<float>()[0] - expected) < 1e-6F;
}

/// True if `n` is `op` of `x` and the scalar, in either order if the operator allows it.
bool applies(const graph& g, const node* n, const char* op, const std::string& x, float scalar, size_t rank) {
  if (!n || n->op != op || n->inputs.size() != 2) return false;
  if (n->inputs[0] == x && is_scalar(g, n->inputs[1], scalar, rank)) return true;
  return n->op != "Div" && n->inputs[1] == x && is_scalar(g, n->inputs[0], scalar, rank);
}

}  // namespace

std::vector<const node*> find_gelu(
    const graph& g, const std::map<std::string, std::vector<const node*>, std::less<>>& readers,
    const std::string& x, size_t rank) {
  const auto sole_reader = [&](const node* n) -> const node* {
    const auto found = readers.find(n->outputs.front());
    return found != readers.end() && found->second.size() == 1 ? found->second.front() : nullptr;
  };
  const auto reading_x = readers.find(x);
  if (reading_x == readers.end() || reading_x->second.size() != 2) return {};
  const node *divide = reading_x->second[0], *product = reading_x->second[1];
  if (!divide || !product) return {};
  if (divide->op != "Div") std::swap(divide, product);
  if (!applies(g, divide, "Div", x, std::numbers::sqrt2_v<float>, rank)) return {};
  const node* erf = sole_reader(divide);
  if (!erf || erf->op != "Erf") return {};
  const node* add = sole_reader(erf);
  if (!applies(g, add, "Add", erf->outputs.front(), 1, rank)) return {};
  const auto& sum = add->outputs.front();
  if (sole_reader(add) != product || product->op != "Mul" || product->inputs.size() != 2) return {};
  if (product->inputs[product->inputs[0] == x ? 1 : 0] != sum) return {};
  const node* half = sole_reader(product);
  if (!applies(g, half, "Mul", product->outputs.front(), 0.5F, rank)) return {};
  return {divide, erf, add, product, half};
}

}  // namespace troupe::onnx
