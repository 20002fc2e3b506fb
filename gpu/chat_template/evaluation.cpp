// interpreter: evaluation of expressions.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gpu/chat_template/functions.hpp"
#include "gpu/chat_template/interpreter.hpp"
#include "gpu/chat_template/methods.hpp"
#include "gpu/chat_template/printing.hpp"

namespace troupe::llm::jinja {

// Each function sets at_ again after its subexpressions, which moved it, so that an error names its own
// place.

value interpreter::evaluate(const expression& e) {
  const nested n(*this, e.at);
  return std::visit([&](const auto& node) { return evaluate(node, e.at); }, e.is);
}

value interpreter::evaluate(const literal& e, place) { return e.is; }

value interpreter::evaluate(const name_of& e, place) {
  if (const auto* v = scope_->find(e.name)) return *v;
  if (const auto f = find_function(e.name)) return *f;
  return make_undefined(fmt::format("'{}' is undefined", e.name));
}

value interpreter::evaluate(const list_of& e, place at) {
  std::vector<value> items;
  items.reserve(e.items.size());
  for (const auto& item : e.items) items.push_back(evaluate(*item));
  at_ = at;
  return make_sequence(e.kind, std::move(items));
}

value interpreter::evaluate(const dict_of_pairs& e, place at) {
  dict_builder d;
  for (const auto& [key, item] : e.items) {
    const auto k = evaluate(*key);
    auto v = evaluate(*item);
    at_ = at;
    d.put(k, std::move(v));
  }
  return d.take();
}

value interpreter::evaluate(const attribute_of& e, place at) {
  const auto of = evaluate(*e.of);
  at_ = at;
  return get_attribute(of, e.name, session_.cost);
}

value interpreter::evaluate(const item_of& e, place at) {
  const auto of = evaluate(*e.of), key = evaluate(*e.key);
  at_ = at;
  return get_item(of, key, session_.cost);
}

value interpreter::evaluate(const slice_of& e, place at) {
  const auto end = [&](const expression_ptr& x) { return x != nullptr ? evaluate(*x) : value(none{}); };
  const auto of = evaluate(*e.of);
  const auto from = end(e.from), to = end(e.to), step = end(e.step);
  at_ = at;
  return get_slice(of, from, to, step, session_.cost);
}

arguments interpreter::evaluate(const argument_list& a) {
  arguments out;
  for (const auto& e : a.positional) out.positional.push_back(evaluate(*e));
  for (const auto& [name, e] : a.named) out.named.emplace_back(name, evaluate(*e));
  return out;
}

value interpreter::evaluate(const call& e, place at) {
  const auto callee = evaluate(*e.callee);
  const auto given = evaluate(e.given);
  at_ = at;
  if (const auto* m = std::get_if<method_ptr>(&callee)) return call_method(**m, given, session_.cost);
  if (const auto* f = std::get_if<global_function>(&callee)) return call_function(*f, given, session_);
  if (const auto* m = std::get_if<const macro*>(&callee)) return call_macro(**m, given);
  if (is_undefined(callee)) refuse_undefined(callee);
  throw refusal(fmt::format("'{}' object is not callable", type_name(callee)));
}

value interpreter::evaluate(const filtered& e, place at) {
  const auto of = e.of != nullptr ? evaluate(*e.of) : std::exchange(captured_, none{});
  const auto given = evaluate(e.given);
  at_ = at;
  return apply(*e.by, of, given, session_.cost);
}

value interpreter::evaluate(const tested& e, place at) {
  const auto of = evaluate(*e.of);
  const auto given = evaluate(e.given);
  at_ = at;
  return holds(*e.by, of, given, session_.cost);
}

value interpreter::evaluate(const unary& e, place at) {
  const auto of = evaluate(*e.of);
  at_ = at;
  if (e.op == unary::sign::negation) return !truth(of);
  return e.op == unary::sign::minus ? negate(of) : plus(of);
}

value interpreter::evaluate(const binary& e, place at) {
  const auto left = evaluate(*e.left), right = evaluate(*e.right);
  at_ = at;
  return calculate(e.op, left, right, session_.cost);
}

value interpreter::evaluate(const logical& e, place) {
  auto left = evaluate(*e.left);
  return truth(left) == e.all ? evaluate(*e.right) : left;
}

value interpreter::evaluate(const concatenation& e, place at) {
  std::string out;
  for (const auto& part : e.parts) {
    const auto v = evaluate(*part);
    at_ = at;
    const auto t = to_text(v, session_.cost);
    session_.cost.spend_bytes(out.size() + t.size());
    out += t;
  }
  return std::make_shared<const std::string>(std::move(out));
}

value interpreter::evaluate(const comparison& e, place at) {
  auto left = evaluate(*e.first);
  for (const auto& [r, other] : e.others) {
    auto right = evaluate(*other);
    at_ = at;
    if (!holds(r, left, right, session_.cost)) return false;
    left = std::move(right);
  }
  return true;
}

value interpreter::evaluate(const conditional& e, place) {
  if (truth(evaluate(*e.condition))) return evaluate(*e.yes);
  if (e.no != nullptr) return evaluate(*e.no);
  return make_undefined("the condition of an inline if is false, and it has no else");
}

void interpreter::bind(const macro& m, const arguments& a) {
  const auto& d = *m.definition;
  if (a.positional.size() > d.parameters.size()) {
    throw refusal(fmt::format("macro '{}' takes at most {} arguments, not {}", d.name, d.parameters.size(),
                              a.positional.size()));
  }
  for (const auto& [name, v] : a.named) {
    const auto at = std::find_if(d.parameters.begin(), d.parameters.end(),
                                 [&, n = name](const auto& p) { return p.name == n; });
    if (at == d.parameters.end()) throw refusal(fmt::format("macro '{}' has no argument '{}'", d.name, name));
    if (at - d.parameters.begin() < static_cast<ptrdiff_t>(a.positional.size())) {
      throw refusal(fmt::format("macro '{}' has argument '{}' twice", d.name, name));
    }
    scope_->names.insert_or_assign(at->name, v);
  }
  for (size_t i = 0; i < d.parameters.size(); ++i) {
    const auto& p = d.parameters[i];
    if (i < a.positional.size()) {
      scope_->names.insert_or_assign(p.name, a.positional[i]);
    } else if (!scope_->names.contains(p.name)) {
      auto v = p.otherwise != nullptr
                   ? evaluate(*p.otherwise)
                   : make_undefined(fmt::format("parameter '{}' was not provided", p.name));
      scope_->names.insert_or_assign(p.name, std::move(v));
    }
  }
}

value interpreter::call_macro(const macro& m, const arguments& a) {
  session_.cost.spend(4);
  const inner_scope i(*this, m.outer);
  bind(m, a);
  auto outside = std::exchange(out_, {});
  execute(m.definition->content);
  std::swap(outside, out_);
  return std::make_shared<const std::string>(std::move(outside));
}

}  // namespace troupe::llm::jinja
