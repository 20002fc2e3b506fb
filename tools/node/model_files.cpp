#include "tools/node/model_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/device/engine_choice.hpp"
#include "gpu/device/native_model.hpp"
#include "tools/node/model_source.hpp"
#include "tools/node/read_encoder_bundle.hpp"
#include "tools/node/read_tokenizer_bundle.hpp"
#include "transport/kserve/shape_choice.hpp"
#ifdef TROUPE_CUDA
#include "gpu/device/profile.hpp"
#include "gpu/llm/cuda/decoder_shape.hpp"
#include "gpu/llm/tensor_shard.hpp"
#include "gpu/onnx/cuda/make_program.hpp"
#include "gpu/onnx/model.hpp"
#endif

namespace troupe {
namespace {

/// Kinds of the devices that may load the model.
std::set<device_kind> kinds_for(const model_spec& m, const cluster_spec& cluster) {
  std::set<device_kind> out;
  for (const auto& s : cluster.slots)
    if (cluster.nodes[s.node.value].domain == m.domain) out.insert(s.kind);
  return out;
}

/// Throws model_error.
void read_model_file(const model_spec& m, const cluster_spec& cluster) {
  if (m.path.empty()) return;
  const auto kinds = kinds_for(m, cluster);
  if (kinds.contains(device_kind::cpu)) choose_engine(source_of(m));
  if (!m.images.empty())
    if (const auto why = images_problem(m, signature_of(source_of(m))); !why.empty()) throw model_error(why);
  if (kinds.contains(device_kind::emulated)) signature_of(source_of(m));
#ifdef TROUPE_CUDA
  if (!kinds.contains(device_kind::cuda)) return;
  const auto file = open_native(source_of(m));
  for (const auto rows : profiled_batch_sizes(m.max_batch)) cuda::make_program(*file, rows, {});
#endif
}

/// Throws model_error.
void check_padding(const padding_spec& padding, const model_spec& m) {
  for (const auto& t : signature_of(source_of(m)).inputs)
    if (const auto* pad = find_input(padding.inputs, t.name);
        pad != nullptr && !can_pad_with(t.type, pad->value))
      throw model_error(
          fmt::format("'{}' is {}, which cannot be padded with {}", t.name, to_string(t.type), pad->value));
}

#ifdef TROUPE_CUDA
/// Throws model_error.
void check_on_cuda(const llm::model_config& whole, const llm_spec& m) {
  const auto ranks = m.tensor_parallel;
  cuda::shape_of(ranks > 1 ? llm::tensor_shard(whole, 0, ranks).config() : whole, m.block_tokens, 0, ranks);
}
#endif

/// Throws model_error. Returns the problem of the chat template, or nothing.
std::string read_llm_folder(const llm_spec& m) {
  const auto texts = read_tokenizer_bundle(m.path);
  if (m.device != device_kind::emulated) {
    const llm::checkpoint weights(m.path);
#ifdef TROUPE_CUDA
    if (m.device == device_kind::cuda) check_on_cuda(weights.config(), m);
#endif
  }
  return texts->chat_problem;
}

/// Adds the problem that `read` throws, once.
void note(std::vector<problem>& problems, const file_position& where, const char* key,
          const std::function<void()>& read) {
  try {
    read();
  } catch (const std::bad_alloc&) {
    problems.push_back({where, fmt::format("{}: the model does not fit into memory", key)});
  } catch (const std::exception& e) {
    problem p{where, fmt::format("{}: {}", key, e.what())};
    const auto known = [&](const problem& q) { return to_string(q) == to_string(p); };
    if (std::ranges::none_of(problems, known)) problems.push_back(std::move(p));
  }
}

}  // namespace

model_file_findings check_model_files(const cluster_reading& cluster) {
  model_file_findings out;
  const auto& spec = cluster.spec;
  std::set<uint32_t> of_encoders;
  for (const auto& e : spec.encoders) {
    for (const auto& l : e.lengths) of_encoders.insert(l.model.value);
    const auto longest = e.lengths.back().model.value;
    note(out.problems, cluster.model_places[longest], "encoder.model", [&] {
      read_encoder_bundle(e.path, e.lengths.back().tokens);
      signature_of(source_of(spec.models[longest]));  // also of the weights
    });
  }
  for (uint32_t i = 0; i < spec.models.size(); ++i)
    if (!of_encoders.contains(i))
      note(out.problems, cluster.model_places[i], "model.source",
           [&] { read_model_file(spec.models[i], spec); });
  for (const auto& s : spec.shaped_models)
    if (const auto first = s.shapes.front().value; s.padding && out.problems.empty())
      note(out.problems, cluster.model_places[first], "model.pad",
           [&] { check_padding(*s.padding, spec.models[first]); });
  for (size_t i = 0; i < spec.llms.size(); ++i)
    note(out.problems, cluster.llm_places[i], "llm.model", [&] {
      if (const auto why = read_llm_folder(spec.llms[i]); !why.empty())
        out.warnings.push_back(
            {cluster.llm_places[i],
             fmt::format("llm.model: {}: its chat requests are refused, its completions are not", why)});
    });
  std::ranges::stable_sort(out.problems, {},
                           [](const problem& p) { return std::pair(p.where.line, p.where.column); });
  return out;
}

}  // namespace troupe
