#include "tools/commands/served_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "config/problem.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/device/engine_choice.hpp"
#include "tools/common/way_to_run.hpp"

namespace troupe {
namespace {

model_source source_of(const served_file& m) {
  model_source s;
  s.path = m.file.string();
  if (m.max_batch) s.max_batch = *m.max_batch;
  s.shapes = m.shapes;
  return s;
}

[[noreturn]] void refuse_flag(const input_shape& flag, const std::string& why) {
  throw std::invalid_argument(fmt::format("--shape {}={}: {}", flag.name, fmt::join(flag.dims, "x"), why));
}

/// Whether the flag gives the first dimension, too.
bool is_whole(const input_shape& flag, const onnx::declared_tensor& input, const std::string& file) {
  if (!input.dims) return true;
  const auto& dims = *input.dims;
  const bool whole = flag.dims.size() == dims.size();
  const bool row = flag.dims.size() + 1 == dims.size() && dims.front() < 0;
  const bool fits = (whole || row) && std::equal(flag.dims.rbegin(), flag.dims.rend(), dims.rbegin(),
                                                 [](auto given, auto d) { return d < 0 || d == given; });
  if (!fits)
    refuse_flag(flag,
                fmt::format("the input has the shape {} in {}; give all of its dimensions, or all but the "
                            "first if that is for batches",
                            shape_text(dims), file));
  return whole;
}

}  // namespace

std::string shape_text(std::span<const int64_t> dims) { return fmt::format("[{}]", fmt::join(dims, ",")); }

void give_shapes(served_file& m, const onnx::model_interface& declared, std::span<const input_shape> flags,
                 std::set<std::string>& used) {
  for (const auto& flag : flags) {
    const auto input = std::ranges::find(declared.inputs, flag.name, &onnx::declared_tensor::name);
    if (input == declared.inputs.end()) continue;
    used.insert(flag.name);
    const bool batched = !is_whole(flag, *input, m.file.string());
    if (m.batched.value_or(batched) != batched)
      refuse_flag(
          flag, fmt::format("{} is served {}; give {}", m.file.string(),
                            batched ? "request by request" : "in batches",
                            batched ? "the whole shape" : "the shape of a row, without the first dimension"));
    m.batched = batched;
    std::erase_if(m.shapes, [&](const input_shape& s) { return s.name == flag.name; });
    m.shapes.push_back(flag);
  }
}

model_signature choose_batching(served_file& m) {
  using enum way_to_run;
  std::vector ways{batches, whole, any_shape};
  if (m.any_shape)
    ways = {any_shape};
  else if (m.batched)
    ways = {*m.batched ? batches : whole};
  else if (!m.shapes.empty())
    ways.pop_back();
  return first_way_that_runs(source_of(m), ways, [&](const model_source& s) {
    auto signature = signature_of(s);
    m.batched = s.batched;
    m.any_shape = s.any_shape;
    return signature;
  });
}

std::string to_toml(const served_file& m) {
  auto out = fmt::format("[[model]]\nname = {}\nsource = {}\nslo_ms = {}\n", in_quotes(m.name),
                         in_quotes(m.file.string()), m.slo_ms);
  if (m.any_shape)
    out += "any_shape = true\n";
  else if (!*m.batched)
    out += "batching = \"none\"\n";
  if ((*m.batched || m.any_shape) && m.max_batch) out += fmt::format("max_batch = {}\n", *m.max_batch);
  std::vector<std::string> shapes;
  for (const auto& s : m.shapes)
    shapes.push_back(fmt::format("{} = [{}]", in_quotes(s.name), fmt::join(s.dims, ", ")));
  if (!shapes.empty()) out += fmt::format("shapes = {{ {} }}\n", fmt::join(shapes, ", "));
  return out;
}

}  // namespace troupe
