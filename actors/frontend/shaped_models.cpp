#include "actors/frontend/shaped_models.hpp"

#include <algorithm>
#include <memory>

#include "messages/tensor/shaped_tensors.hpp"
#include "transport/kserve/shape_choice.hpp"

namespace troupe {
namespace {

std::vector<model_signature> signatures_of(const std::vector<catalog::view>& parts) {
  std::vector<model_signature> out;
  for (const auto& p : parts) out.push_back(p->signature);
  return out;
}

/// The number of rows of a request whose inputs all begin with it.
http_result<uint32_t> rows_of(const catalog::entry& asked) {
  const auto& inputs = asked.signature.inputs;
  const auto first = [](const tensor_spec& t) { return t.shape.empty() ? -1 : t.shape.front(); };
  const auto rows = first(inputs.front());
  for (const auto& t : inputs)
    if (first(t) != rows || rows < 1)
      return http_error{400,
                        "input '" + t.name +
                            "' must begin with the number of rows, at least one and the same for all inputs"};
  if (rows > asked.max_batch)
    return http_error{400, "the request has " + std::to_string(rows) + " rows; model '" + asked.name +
                               "' takes at most " + std::to_string(asked.max_batch)};
  return static_cast<uint32_t>(rows);
}

/// A model that takes any shape, for a request with these.
http_result<shaped_models::choice> take_any(const catalog::view& model, const std::string& name,
                                            const std::vector<sent_shape>& sent) {
  auto given = given_shapes(sent, model->signature);
  if (!given) return given.error();
  auto asked = std::make_shared<catalog::entry>(*model);
  asked->name = name;
  asked->signature = std::move(*given);
  shaped_models::choice out{model, asked, nullptr, {}, true};
  out.shape_class = shape_class_of(asked->signature.inputs, model->max_batch == 1);
  if (model->max_batch == 1) return out;
  const auto rows = rows_of(*asked);
  if (!rows) return rows.error();
  out.rows = *rows;
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

/// None if one was undeployed. The one that takes any shape is the last.
std::vector<catalog::view> shaped_models::parts_of(const shaped_model_spec& spec) const {
  std::vector<catalog::view> out;
  auto ids = spec.shapes;
  if (spec.any_shape) ids.push_back(*spec.any_shape);
  for (const auto id : ids) {
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
    if (p->model != spec.any_shape) whole->max_batch = std::min(whole->max_batch, p->max_batch);
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
  if (spec == nullptr && !has_free_dimension(model->signature)) return choice{model, model};
  auto parts = spec == nullptr ? std::vector{model} : parts_of(*spec);
  if (parts.empty() || std::ranges::any_of(parts, [](const auto& p) { return p->signature.inputs.empty(); }))
    return http_error{503, "model '" + model->name + "' is still loading"};
  const auto sent = read_sent_shapes(body, parts.front()->signature);
  if (!sent) return sent.error();
  if (spec == nullptr) return take_any(model, model->name, *sent);
  catalog::view any;
  if (spec->any_shape) {
    any = std::move(parts.back());
    parts.pop_back();
  }
  const auto signatures = signatures_of(parts);
  std::vector<uint32_t> padded_outputs;
  size_t shape = 0;
  auto asked = std::make_shared<catalog::entry>();
  if (spec->padding) {
    auto chosen = choose_length(*sent, signatures, axis_of(*spec->padding));
    if (!chosen && any) return take_any(any, spec->name, *sent);
    if (!chosen) return chosen.error();
    shape = chosen->shape;
    *asked = *parts[shape];
    asked->signature = std::move(chosen->sent);
    padded_outputs = std::move(chosen->padded_outputs);
  } else {
    const auto chosen = choose_shape(*sent, signatures);
    if (!chosen && any) return take_any(any, spec->name, *sent);
    if (!chosen) return chosen.error();
    shape = *chosen;
    *asked = *parts[shape];
  }
  asked->name = spec->name;
  return choice{parts[shape], std::move(asked), spec->padding ? &*spec->padding : nullptr,
                std::move(padded_outputs)};
}

uint64_t input_bytes_of(const infer_request& request, const shaped_models::choice& to) {
  if (to.with_shapes) return shapes_bytes(to.asked->signature.inputs) + request.input_bytes;
  return to.padding == nullptr ? request.input_bytes : input_row_bytes(to.runs->signature) * request.rows;
}

std::optional<http_error> write_inputs(const infer_request& request, const shaped_models::choice& to,
                                       std::span<std::byte> into, const file_inputs& files) {
  if (to.with_shapes) into = write_shapes(to.asked->signature.inputs, into);
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
