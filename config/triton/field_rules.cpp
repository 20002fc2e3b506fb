#include "config/triton/field_rules.hpp"

#include <fmt/format.h>

namespace troupe::triton {
namespace {

namespace pb = google::protobuf;

class rule_walk {
 public:
  explicit rule_walk(const std::string& file) : file_(file) {}

  void walk(const pb::Message& message, const place_tree& tree, const std::string& path) {
    std::vector<const pb::FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    for (const auto* f : fields) walk_field(message, f, tree, path + f->name());
  }

  ruled_fields take() { return std::move(out_); }

 private:
  void walk_field(const pb::Message& message, const pb::FieldDescriptor* f, const place_tree& tree,
                  const std::string& path) {
    const auto& options = f->options();
    const auto at = place_of(tree, f, f->is_repeated() ? 0 : -1, file_);
    if (options.HasExtension(::inference::refused))
      return refuse(at, path, options.GetExtension(::inference::refused));
    if (options.HasExtension(::inference::no_effect)) {
      out_.ignored.push_back(
          {at, fmt::format("{} has no effect: {}", path, options.GetExtension(::inference::no_effect))});
      return;
    }
    const auto& reflection = *message.GetReflection();
    if (f->cpp_type() == pb::FieldDescriptor::CPPTYPE_ENUM && !f->is_repeated()) {
      const auto* value = reflection.GetEnum(message, f);
      if (value->options().HasExtension(::inference::refused_value))
        refuse(at, fmt::format("{} {}", path, value->name()),
               value->options().GetExtension(::inference::refused_value));
    }
    if (f->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) return;
    const int count = f->is_repeated() ? reflection.FieldSize(message, f) : 1;
    for (int i = 0; i < count; ++i) {
      const auto* nested = tree.GetTreeForNested(f, f->is_repeated() ? i : -1);
      if (nested == nullptr) continue;
      walk(
          f->is_repeated() ? reflection.GetRepeatedMessage(message, f, i) : reflection.GetMessage(message, f),
          *nested, path + '.');
    }
  }

  void refuse(const file_position& at, const std::string& what, const std::string& why) {
    out_.refused.push_back({at, fmt::format("{} is not supported: {}", what, why)});
  }

  const std::string& file_;
  ruled_fields out_;
};

}  // namespace

ruled_fields apply_rules(const model_config_text& config, const std::string& file) {
  rule_walk walk(file);
  walk.walk(config.message, config.places, "");
  return walk.take();
}

}  // namespace troupe::triton
