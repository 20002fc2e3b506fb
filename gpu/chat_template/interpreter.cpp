#include "gpu/chat_template/interpreter.hpp"

#include <fmt/format.h>

#include <utility>

#include "gpu/chat_template/functions.hpp"
#include "gpu/chat_template/printing.hpp"

namespace troupe::llm::jinja {

std::string interpreter::run(const body& b) {
  execute(b);
  return std::move(out_);
}

interpreter::flow interpreter::execute(const body& b) {
  for (const auto& s : b) {
    const nested n(*this, s.at);
    const auto f = std::visit([&](const auto& node) { return execute(node, s.at); }, s.is);
    if (f != flow::goes_on) return f;
  }
  return flow::goes_on;
}

void interpreter::emit(std::string_view text) {
  if (out_.size() + text.size() > max_text_bytes) session_.cost.spend_bytes(max_text_bytes + 1);  // throws
  session_.cost.spend(text.size() / bytes_a_step);
  out_ += text;
}

interpreter::flow interpreter::execute(const data& s, place) {
  emit(s.text);
  return flow::goes_on;
}

interpreter::flow interpreter::execute(const print& s, place at) {
  const auto v = evaluate(*s.what);
  at_ = at;
  if (const auto* t = text_of(v)) {
    emit(*t);
  } else {
    emit(to_text(v, session_.cost));
  }
  return flow::goes_on;
}

void interpreter::assign(const target_name& to, const value& v) {
  if (to.attribute.empty()) {
    scope_->names.insert_or_assign(to.name, v);
    return;
  }
  const auto* found = scope_->find(to.name);
  auto* const* n = found != nullptr ? std::get_if<name_space*>(found) : nullptr;
  if (n == nullptr) {
    throw refusal(
        fmt::format("'{}.{}' cannot be set: '{}' is not a namespace", to.name, to.attribute, to.name));
  }
  check_attribute(to.attribute);
  session_.cost.spend();
  (*n)->attributes.insert_or_assign(to.attribute, v);
}

void interpreter::assign(const target& to, const value& v, place at) {
  at_ = at;
  if (!to.unpacks) return assign(to.names.front(), v);
  const auto items = iterate(v, session_.cost);
  const auto given = items->items.size(), wanted = to.names.size();
  if (given != wanted)
    throw refusal(fmt::format("{} values cannot be unpacked into {} names", given, wanted));
  for (size_t i = 0; i < wanted; ++i) assign(to.names[i], items->items[i]);
}

interpreter::flow interpreter::execute(const assignment& s, place at) {
  assign(s.to, evaluate(*s.what), at);
  return flow::goes_on;
}

interpreter::flow interpreter::execute(const block_assignment& s, place at) {
  auto outside = std::exchange(out_, {});
  {
    const inner_scope i(*this);
    const auto f = execute(s.content);
    std::swap(outside, out_);
    if (f != flow::goes_on) return f;  // drops the text, as jinja2 does
  }
  value v = std::make_shared<const std::string>(std::move(outside));
  if (s.through != nullptr) {
    captured_ = std::move(v);
    v = evaluate(*s.through);
  }
  assign(s.to, v, at);
  return flow::goes_on;
}

interpreter::flow interpreter::execute(const branches& s, place) {
  for (const auto& b : s.ifs)
    if (truth(evaluate(*b.condition))) return execute(b.content);
  return execute(s.otherwise);
}

sequence_ptr interpreter::chosen_items(const loop& s) {
  const auto over = evaluate(*s.over);
  at_ = s.over->at;
  auto items = iterate(over, session_.cost);
  if (s.only == nullptr) return items;
  std::vector<value> chosen;
  const inner_scope i(*this);
  for (const auto& item : items->items) {
    assign(s.item, item, s.over->at);
    if (truth(evaluate(*s.only))) chosen.push_back(item);
  }
  return std::get<sequence_ptr>(make_list(std::move(chosen)));
}

interpreter::flow interpreter::execute(const loop& s, place at) {
  const auto items = chosen_items(s);
  bool completed = false;
  if (!items->items.empty()) {
    auto& state = session_.loops.emplace_back(loop_state{items});
    for (size_t k = 0; k < items->items.size(); ++k) {
      state.at = k;
      session_.cost.spend(4);
      const inner_scope i(*this);
      scope_->names.insert_or_assign("loop", &state);
      assign(s.item, items->items[k], at);
      const auto f = execute(s.content);
      if (f == flow::leaves_loop) break;
      completed = completed || f == flow::goes_on;
    }
  }
  if (completed) return flow::goes_on;
  // as in jinja2: if no iteration was completed, also because of continue or break
  const inner_scope i(*this);
  return execute(s.otherwise);
}

interpreter::flow interpreter::execute(const macro_definition& s, place) {
  const macro* m = &session_.macros.emplace_back(macro{&s, scope_});
  scope_->names.insert_or_assign(s.name, m);
  return flow::goes_on;
}

interpreter::flow interpreter::execute(const block& s, place) {
  std::vector<value> values;
  for (const auto& [name, e] : s.names) values.push_back(evaluate(*e));
  const inner_scope i(*this);
  for (size_t k = 0; k < values.size(); ++k)
    scope_->names.insert_or_assign(s.names[k].first, std::move(values[k]));
  return execute(s.content);
}

interpreter::flow interpreter::execute(const jump& s, place) {
  return s.leaves ? flow::leaves_loop : flow::next_item;
}

}  // namespace troupe::llm::jinja
