#include "config/triton/model_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/triton/field_rules.hpp"
#include "config/triton/model_config_text.hpp"

namespace troupe::triton {
namespace {

namespace pb = google::protobuf;
namespace proto = ::inference;

constexpr int32_t max_rows = 65536;  // as max_batch of a cluster file
constexpr int64_t max_dimension = INT32_MAX;
constexpr uint64_t max_timeout_us = 3'600'000'000;

std::optional<data_type> type_of(proto::DataType t) {
  switch (t) {
    case proto::TYPE_BOOL: return data_type::boolean;
    case proto::TYPE_UINT8: return data_type::uint8;
    case proto::TYPE_UINT16: return data_type::uint16;
    case proto::TYPE_UINT32: return data_type::uint32;
    case proto::TYPE_UINT64: return data_type::uint64;
    case proto::TYPE_INT8: return data_type::int8;
    case proto::TYPE_INT16: return data_type::int16;
    case proto::TYPE_INT32: return data_type::int32;
    case proto::TYPE_INT64: return data_type::int64;
    case proto::TYPE_FP16: return data_type::fp16;
    case proto::TYPE_BF16: return data_type::bf16;
    case proto::TYPE_FP32: return data_type::fp32;
    case proto::TYPE_FP64: return data_type::fp64;
    case proto::TYPE_STRING: return data_type::bytes;
    default: return std::nullopt;
  }
}

class config_reader {
 public:
  config_reader(const model_config_text& text, const std::string& file, model_config_reading& out)
      : text_(text), message_(text.message), file_(file), out_(out) {}

  void read(const std::string& model) {
    auto ruled = apply_rules(text_, file_);
    out_.problems = std::move(ruled.refused);
    out_.ignored = std::move(ruled.ignored);
    if (!message_.name().empty() && message_.name() != model)
      refuse("name", fmt::format("is '{}', and the model's folder '{}'; rename one", message_.name(), model));
    read_backend();
    read_batches();
    out_.config.inputs = tensors("input", message_.input());
    out_.config.outputs = tensors("output", message_.output());
    read_model_file();
    if (message_.has_version_policy()) read_versions();
    read_timeout();
  }

 private:
  static const pb::FieldDescriptor* field(const pb::Descriptor* of, const std::string& name) {
    return of->FindFieldByName(name);
  }
  file_position place(const std::string& name) const {
    return place_of(text_.places, field(proto::ModelConfig::descriptor(), name), -1, file_);
  }
  void refuse(const std::string& name, const std::string& why) { refuse(place(name), name, why); }
  void refuse(file_position at, const std::string& name, const std::string& why) {
    out_.problems.push_back({std::move(at), fmt::format("{}: {}", name, why)});
  }

  void read_backend() {
    const auto& platform = message_.platform();
    if (!platform.empty() && platform != "onnxruntime_onnx")
      refuse("platform", fmt::format("'{}' is not supported; only onnxruntime_onnx is", platform));
    const auto& backend = message_.backend();
    if (!backend.empty() && backend != "onnxruntime")
      refuse("backend", fmt::format("'{}' is not supported; only onnxruntime is", backend));
  }

  void read_batches() {
    if (!message_.has_max_batch_size()) return;
    const auto rows = message_.max_batch_size();
    if (rows < 0 || rows > max_rows)
      return refuse("max_batch_size", fmt::format("must be from 0 to {}, not {}", max_rows, rows));
    out_.config.max_batch = static_cast<uint32_t>(rows);
  }

  template <class Tensors>
  std::vector<config_tensor> tensors(const std::string& kind, const Tensors& list) {
    std::vector<config_tensor> read;
    const auto* list_field = field(proto::ModelConfig::descriptor(), kind);
    for (int i = 0; i < list.size(); ++i) {
      const auto& t = list[i];
      config_tensor one{t.name(), type_of(t.data_type()), {}, place_of(text_.places, list_field, i, file_)};
      const auto* tree = text_.places.GetTreeForNested(list_field, i);
      if (tree != nullptr && !t.name().empty())
        one.where = place_of(*tree, field(t.GetDescriptor(), "name"), -1, file_);
      if (t.name().empty()) refuse(one.where, kind, "has no name");
      for (const auto d : t.dims()) {
        if (d != free_dimension && (d < 1 || d > max_dimension))
          refuse(one.where, kind,
                 fmt::format("'{}' has the dimension {}; dims are from 1 to {}, or -1", t.name(), d,
                             max_dimension));
        one.dims.push_back(d);
      }
      if (std::ranges::count(read, one.name, &config_tensor::name) > 0)
        refuse(one.where, kind, fmt::format("'{}' is given twice", one.name));
      read.push_back(std::move(one));
    }
    return read;
  }

  void read_model_file() {
    const auto& name = message_.default_model_filename();
    if (name.empty()) return;
    if (name.find('/') != std::string::npos || name == "." || name == "..")
      return refuse("default_model_filename", "must be the name of a file in the folder of a version");
    out_.config.model_file = name;
  }

  void read_versions() {
    const auto& policy = message_.version_policy();
    auto& out = out_.config.versions;
    out.where = place("version_policy");
    switch (policy.policy_choice_case()) {
      case proto::ModelVersionPolicy::kLatest:
        out.latest = std::max(1U, policy.latest().num_versions());
        break;
      case proto::ModelVersionPolicy::kAll: out.latest.reset(); break;
      case proto::ModelVersionPolicy::kSpecific:
        out.specific.assign(policy.specific().versions().begin(), policy.specific().versions().end());
        if (out.specific.empty()) refuse("version_policy", "specific has no versions");
        break;
      case proto::ModelVersionPolicy::POLICY_CHOICE_NOT_SET: break;
    }
  }

  void read_timeout() {
    const auto& policy = message_.dynamic_batching().default_queue_policy();
    const auto us = policy.default_timeout_microseconds();  // 0: none
    // With DELAY late requests are answered as well, so that the timeout is no SLO.
    if (us > 0 && policy.timeout_action() == proto::ModelQueuePolicy::REJECT)
      out_.config.timeout = std::chrono::microseconds(std::min(us, max_timeout_us));
  }

  const model_config_text& text_;
  const proto::ModelConfig& message_;
  const std::string& file_;
  model_config_reading& out_;
};

}  // namespace

model_config_reading read_model_config(std::string_view text, const std::string& file,
                                       const std::string& model) {
  model_config_reading out;
  model_config_text parsed;
  if (auto wrong = parse_model_config(text, file, parsed)) {
    out.problems.push_back(std::move(*wrong));
    return out;
  }
  config_reader(parsed, file, out).read(model);
  std::ranges::stable_sort(out.problems, {},
                           [](const problem& p) { return std::pair(p.where.line, p.where.column); });
  return out;
}

}  // namespace troupe::triton
