#include "gpu/chat_template/printing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gpu/chat_template/operators.hpp"
#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

void append_bounded(std::string& out, std::string_view s, budget& cost) {
  if (out.size() + s.size() > max_text_bytes) cost.spend_bytes(out.size() + s.size());  // throws
  cost.spend(1 + s.size() / bytes_a_step);
  out += s;
}

[[noreturn]] void refuse_address(const value& v) {
  throw refusal(fmt::format("a {} cannot be printed: Python would print its address{}", type_name(v),
                            sequence_of(v) != nullptr ? "; make a list of it with | list" : ""));
}

void append_repr(std::string& out, const value& v, budget& cost);

void append_items(std::string& out, const std::vector<value>& items, budget& cost) {
  bool first = true;
  for (const auto& item : items) {
    if (!first) append_bounded(out, ", ", cost);
    first = false;
    append_repr(out, item, cost);
  }
}

void append_repr(std::string& out, const sequence& s, const value& v, budget& cost) {
  switch (s.kind) {
    case sequence_kind::list:
      out += '[';
      append_items(out, s.items, cost);
      out += ']';
      return;
    case sequence_kind::tuple:
      out += '(';
      append_items(out, s.items, cost);
      out += s.items.size() == 1 ? ",)" : ")";
      return;
    case sequence_kind::range:
    case sequence_kind::generator: refuse_address(v);
    default:
      append_bounded(out, type_name(v), cost);
      out += "([";
      append_items(out, s.items, cost);
      out += "])";
  }
}

void append_repr(std::string& out, const value& v, budget& cost) {
  if (const auto* t = text_of(v)) {
    cost.spend_characters(t->size());
    append_bounded(out, text::repr(*t), cost);
  } else if (is_undefined(v)) {
    append_bounded(out, "Undefined", cost);
  } else if (const auto* s = sequence_of(v)) {
    append_repr(out, *s, v, cost);
  } else if (const auto* d = dict_of(v)) {
    out += '{';
    bool first = true;
    for (const auto& [key, item] : d->items) {
      if (!first) append_bounded(out, ", ", cost);
      first = false;
      append_repr(out, key, cost);
      append_bounded(out, ": ", cost);
      append_repr(out, item, cost);
    }
    out += '}';
  } else {
    append_bounded(out, to_text(v, cost), cost);
  }
}

class json_writer {
 public:
  json_writer(const json_style& style, budget& cost) : style_(style), cost_(cost) {}

  void write(const value& v) {
    if (const auto* s = sequence_of(v)) {
      if (s->kind != sequence_kind::list && s->kind != sequence_kind::tuple) refuse(v);
      write_list(s->items);
    } else if (const auto* d = dict_of(v)) {
      write_dict(*d);
    } else if (const auto* t = text_of(v)) {
      put_text(*t);
    } else {
      put(scalar(v));
    }
  }

  std::string take() { return std::move(out_); }

 private:
  [[noreturn]] static void refuse(const value& v) {
    throw refusal(fmt::format("Object of type {} is not JSON serializable", type_name(v)));
  }

  void put(std::string_view s) { append_bounded(out_, s, cost_); }

  void put_text(std::string_view s) {
    cost_.spend_characters(s.size());
    put(text::json(s, style_.ascii));
  }

  static std::string scalar(const value& v) {
    if (is_none(v)) return "null";
    if (const auto* b = std::get_if<bool>(&v)) return *b ? "true" : "false";
    if (const auto* n = std::get_if<int64_t>(&v)) return fmt::format("{}", *n);
    const auto* d = std::get_if<double>(&v);
    if (d == nullptr) refuse(v);
    if (std::isnan(*d)) return "NaN";
    if (std::isinf(*d)) return *d > 0 ? "Infinity" : "-Infinity";
    return number_text(*d);
  }

  void new_line() {
    if (!style_.indent) return;
    put("\n");
    for (uint32_t i = 0; i < level_; ++i) put(*style_.indent);
  }

  void write_list(const std::vector<value>& items) {
    if (items.empty()) return put("[]");
    put("[");
    ++level_;
    bool first = true;
    for (const auto& item : items) {
      if (!first) put(style_.item_separator);
      first = false;
      new_line();
      write(item);
    }
    --level_;
    new_line();
    put("]");
  }

  void write_dict(const dict& d) {
    if (d.items.empty()) return put("{}");
    put("{");
    ++level_;
    cost_.spend_items(d.items.size());
    std::vector<const std::pair<value, value>*> items;
    for (const auto& item : d.items) items.push_back(&item);
    if (style_.sort_keys) {
      std::stable_sort(items.begin(), items.end(),
                       [&](const auto* a, const auto* b) { return less(a->first, b->first, cost_); });
    }
    bool first = true;
    for (const auto* item : items) {
      if (!first) put(style_.item_separator);
      first = false;
      new_line();
      const auto* t = text_of(item->first);
      put_text(t != nullptr ? *t : scalar(item->first));
      put(style_.key_separator);
      write(item->second);
    }
    --level_;
    new_line();
    put("}");
  }

  const json_style& style_;
  budget& cost_;
  std::string out_;
  uint32_t level_ = 0;
};

}  // namespace

std::string number_text(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
  auto s = fmt::format("{}", d);
  if (s.find_first_of(".e") == s.npos) s += ".0";
  return s;
}

std::string to_text(const value& v, budget& cost) {
  cost.spend();
  if (const auto* t = text_of(v)) return *t;
  if (is_undefined(v)) return "";
  if (is_none(v)) return "None";
  if (const auto* b = std::get_if<bool>(&v)) return *b ? "True" : "False";
  if (const auto* n = std::get_if<int64_t>(&v)) return fmt::format("{}", *n);
  if (const auto* d = std::get_if<double>(&v)) return number_text(*d);
  if (sequence_of(v) == nullptr && dict_of(v) == nullptr) refuse_address(v);
  std::string out;
  append_repr(out, v, cost);
  return out;
}

std::string to_repr(const value& v, budget& cost) {
  std::string out;
  append_repr(out, v, cost);
  return out;
}

std::string to_json(const value& v, const json_style& style, budget& cost) {
  json_writer w(style, cost);
  w.write(v);
  return w.take();
}

}  // namespace troupe::llm::jinja
