#include "actors/frontend/shaped_models.hpp"

#include <algorithm>
#include <memory>

#include "transport/kserve/shape_choice.hpp"

namespace troupe {
namespace {

std::vector<model_signature> signatures_of(const std::vector<catalog::view>& parts) {
  std::vector<model_signature> out;
  for (const auto& p : parts) out.push_back(p->signature);
  return out;
}

padded_axis axis_of(const padding_spec& p) { return {p.axis, p.lengths, p.inputs}; }

}  // namespace

shaped_models::shaped_models(const cluster_spec& cluster, const catalog& models)
    : specs_(cluster.shaped_models), parts_(cluster.models), models_(models) {}

const shaped_model_spec* shaped_models::spec_of(const catalog::view& model) const {
  const auto at = std::ranges::find(specs_, model->name, &shaped_model_spec::name);
  if (at == specs_.end()) return nullptr;
  return std::ranges::find(at->shapes, model->model) != at->shapes.end() ? &*at : nullptr;
}

/// None if one was undeployed.
std::vector<catalog::view> shaped_models::parts_of(const shaped_model_spec& spec) const {
  std::vector<catalog::view> out;
  for (const auto id : spec.shapes) {
    auto part = models_.find(parts_[id.value].name);
    if (!part || part->model != id) return {};
    out.push_back(std::move(part));
  }
  return out;
}

catalog::view shaped_models::find(std::string_view name) const {
  const auto at = std::ranges::find(specs_, name, &shaped_model_spec::name);
  return at == specs_.end() ? catalog::view{} : whole_of(*at);
}

catalog::view shaped_models::whole_of(const shaped_model_spec& spec) const {
  const auto parts = parts_of(spec);
  if (parts.empty()) return {};
  auto whole = std::make_shared<catalog::entry>(*parts.front());
  whole->name = spec.name;
  for (const auto& p : parts) {
    whole->slots = std::min(whole->slots, p->slots);
    whole->max_batch = std::min(whole->max_batch, p->max_batch);
  }
  const bool loaded = std::ranges::none_of(parts, [](const auto& p) { return p->signature.inputs.empty(); });
  whole->signature = loaded ? open_signature(signatures_of(parts)) : model_signature{};
  return whole;
}

std::vector<catalog::view> shaped_models::all() const {
  std::vector<catalog::view> out;
  for (const auto& s : specs_)
    if (auto whole = whole_of(s)) out.push_back(std::move(whole));
  return out;
}

std::vector<catalog::view> shaped_models::parts_of(const catalog::view& model) const {
  const auto* spec = spec_of(model);
  return spec == nullptr ? std::vector{model} : parts_of(*spec);
}

http_result<shaped_models::choice> shaped_models::choose(const catalog::view& model,
                                                         const infer_body& body) const {
  const auto* spec = spec_of(model);
  if (spec == nullptr) return choice{model, model};
  const auto parts = parts_of(*spec);
  const auto signatures = signatures_of(parts);
  if (parts.empty() || std::ranges::any_of(signatures, [](const auto& s) { return s.inputs.empty(); }))
    return http_error{503, "model '" + spec->name + "' is still loading"};
  const auto sent = read_sent_shapes(body, signatures.front());
  if (!sent) return sent.error();
  std::vector<uint32_t> padded_outputs;
  size_t shape = 0;
  auto asked = std::make_shared<catalog::entry>();
  if (spec->padding) {
    auto chosen = choose_length(*sent, signatures, axis_of(*spec->padding));
    if (!chosen) return chosen.error();
    shape = chosen->shape;
    *asked = *parts[shape];
    asked->signature = std::move(chosen->sent);
    padded_outputs = std::move(chosen->padded_outputs);
  } else {
    const auto chosen = choose_shape(*sent, signatures);
    if (!chosen) return chosen.error();
    shape = *chosen;
    *asked = *parts[shape];
  }
  asked->name = spec->name;
  return choice{parts[shape], std::move(asked), spec->padding ? &*spec->padding : nullptr,
                std::move(padded_outputs)};
}

uint64_t input_bytes_of(const infer_request& request, const shaped_models::choice& to) {
  return to.padding == nullptr ? request.input_bytes : input_row_bytes(to.runs->signature) * request.rows;
}

std::optional<http_error> write_inputs(const infer_request& request, const shaped_models::choice& to,
                                       std::span<std::byte> into, const file_inputs& files) {
  if (to.padding == nullptr) return write_inputs(request, to.asked->signature, into, &files);
  for (const auto& wanted : request.outputs)
    if (std::ranges::find(to.padded_outputs, wanted.output) != to.padded_outputs.end())
      return http_error{400, "output '" + to.runs->signature.outputs[wanted.output].name +
                                 "' would have padding that cannot be cut off; ask for other outputs, or '" +
                                 to.runs->name + "' for this one"};
  std::vector<std::byte> sent(request.input_bytes);
  if (auto bad = write_inputs(request, to.asked->signature, sent)) return bad;
  pad_inputs(to.asked->signature, to.runs->signature, request.rows, axis_of(*to.padding), sent, into);
  return {};
}

}  // namespace troupe
