#include "gpu/onnx/known_branches.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace troupe::onnx {
namespace {

namespace proto = ::onnx;

template <class T>
std::optional<double> first_of(const proto::TensorProto& t) {
  if (t.raw_data().size() != sizeof(T)) return {};
  T value;
  std::memcpy(&value, t.raw_data().data(), sizeof value);
  return static_cast<double>(value);
}

/// The only element of a tensor of a usual type.
std::optional<double> number_in(const proto::TensorProto& t) {
  if (std::ranges::any_of(t.dims(), [](int64_t d) { return d != 1; })) return {};
  switch (t.data_type()) {
    case proto::TensorProto::FLOAT: return t.float_data_size() == 1 ? t.float_data(0) : first_of<float>(t);
    case proto::TensorProto::DOUBLE:
      return t.double_data_size() == 1 ? t.double_data(0) : first_of<double>(t);
    case proto::TensorProto::INT64:
      return t.int64_data_size() == 1 ? static_cast<double>(t.int64_data(0)) : first_of<int64_t>(t);
    case proto::TensorProto::INT32: return t.int32_data_size() == 1 ? t.int32_data(0) : first_of<int32_t>(t);
    case proto::TensorProto::BOOL: return t.int32_data_size() == 1 ? t.int32_data(0) : first_of<uint8_t>(t);
    default: return {};
  }
}

const proto::AttributeProto* attribute(const proto::NodeProto& n, const std::string& name) {
  const auto& all = n.attribute();
  const auto found = std::ranges::find(all, name, &proto::AttributeProto::name);
  return found == all.end() ? nullptr : &*found;
}

class folder {
 public:
  explicit folder(proto::GraphProto& graph) : graph_(graph) {
    for (const auto& i : graph.input()) defined_.insert(i.name());
    for (const auto& t : graph.initializer()) note(t);
    for (const auto& n : graph.node()) defined_.insert(n.output().begin(), n.output().end());
    ahead_.assign(graph.node().begin(), graph.node().end());
  }

  void run() {
    graph_.clear_node();
    while (!ahead_.empty()) {
      const auto n = std::move(ahead_.front());
      ahead_.pop_front();
      if (n.op_type() == "If" && n.domain().empty() && take_branch(n)) continue;
      if (const auto value = value_of(n)) know(n.output(0), *value);
      *graph_.add_node() = n;
    }
  }

 private:
  void note(const proto::TensorProto& t) {
    defined_.insert(t.name());
    if (const auto value = number_in(t)) know(t.name(), *value);
  }

  /// Integers beyond 2^53 are no doubles: they stay unknown.
  void know(const std::string& name, double value) {
    constexpr double largest = 9007199254740992;
    if (value > -largest && value < largest) known_[name] = value;
  }

  std::optional<double> known(const proto::NodeProto& n, int input) const {
    if (input >= n.input_size()) return {};
    const auto found = known_.find(n.input(input));
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Of the first output.
  std::optional<double> value_of(const proto::NodeProto& n) const {
    if (!n.domain().empty() || n.output_size() != 1) return {};
    const auto& op = n.op_type();
    if (op == "Constant") {
      const auto* value = attribute(n, "value");
      return value == nullptr ? std::nullopt : number_in(value->t());
    }
    const auto a = known(n, 0), b = known(n, 1);
    if (!a) return {};
    if (op == "Identity") return a;
    if (op == "Not") return *a == 0;
    if (!b) return {};
    if (op == "Equal") return *a == *b;
    if (op == "Greater") return *a > *b;
    if (op == "Less") return *a < *b;
    if (op == "And") return *a != 0 && *b != 0;
    if (op == "Or") return *a != 0 || *b != 0;
    return {};
  }

  /// False: it stays.
  bool take_branch(const proto::NodeProto& n) {
    const auto condition = known(n, 0);
    if (!condition) return false;
    const auto* chosen = attribute(n, *condition != 0 ? "then_branch" : "else_branch");
    if (chosen == nullptr || chosen->g().output_size() < n.output_size()) return false;
    const auto& branch = chosen->g();
    if (branch.sparse_initializer_size() > 0) return false;
    std::set<std::string> names;
    for (const auto& t : branch.initializer()) names.insert(t.name());
    for (const auto& inner : branch.node()) names.insert(inner.output().begin(), inner.output().end());
    names.erase("");  // an output that is left out
    if (std::ranges::any_of(names, [&](const auto& name) { return defined_.contains(name); })) return false;
    defined_.merge(names);
    for (const auto& t : branch.initializer()) {
      *graph_.add_initializer() = t;
      note(t);
    }
    for (int i = n.output_size(); i-- > 0;) {
      if (n.output(i).empty()) continue;  // left out
      proto::NodeProto same;
      same.set_name(n.name() + "/" + std::to_string(i));
      same.set_op_type("Identity");
      same.add_input(branch.output(i).name());
      same.add_output(n.output(i));
      ahead_.push_front(std::move(same));
    }
    ahead_.insert(ahead_.begin(), branch.node().begin(), branch.node().end());
    return true;
  }

  proto::GraphProto& graph_;
  std::deque<proto::NodeProto> ahead_;  ///< not yet in the graph again
  std::set<std::string> defined_;
  std::map<std::string, double> known_;
};

}  // namespace

void take_known_branches(::onnx::GraphProto& graph) { folder(graph).run(); }

}  // namespace troupe::onnx
