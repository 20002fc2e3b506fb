#include "gpu/chat_template/content_reader.hpp"

#include <algorithm>
#include <string_view>

namespace troupe::llm::jinja {
namespace {

template <class... Visitors>
struct content_visitors : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
content_visitors(Visitors...) -> content_visitors<Visitors...>;

bool is_text(const expression& e, std::string_view text) {
  const auto* l = std::get_if<literal>(&e.is);
  const auto* t = l ? std::get_if<text_ptr>(&l->is) : nullptr;
  return t && **t == text;
}

bool tells_texts(const value_test* t) {
  return t == find_test("string") || t == find_test("iterable") || t == find_test("sequence") ||
         t == find_test("mapping");
}

}  // namespace

content_format content_reader::read(const body& b) {
  for (size_t known = names_.size() + 1;
       known != names_.size();) {  // a macro may be used before a name is set
    known = names_.size();
    visit(b);
  }
  return !loops_ ? content_format::text : tests_ ? content_format::either : content_format::parts;
}

bool content_reader::is_content(const expression& e) const {
  return std::visit(
      content_visitors{[&](const name_of& n) { return names_.contains(n.name); },
                       [&](const attribute_of& a) { return a.name == "content"; },
                       [&](const item_of& i) { return is_text(*i.key, "content"); },
                       [&](const slice_of& s) { return is_content(s.of); },
                       [&](const filtered& f) { return is_content(f.of); },
                       [&](const conditional& c) { return is_content(c.yes) || is_content(c.no); },
                       [&](const logical& l) { return is_content(l.left) || is_content(l.right); },
                       [](const auto&) { return false; }},
      e.is);
}

void content_reader::note(const std::string& name, const expression_ptr& from) {
  if (is_content(from)) names_.insert(name);
}

void content_reader::visit(const body& b) {
  for (const auto& s : b) visit_statement(s);
}

void content_reader::visit(const expression_ptr& e) {
  if (e) visit_expression(*e);
}

void content_reader::visit(const argument_list& a) {
  for (const auto& e : a.positional) visit(e);
  for (const auto& [name, e] : a.named) visit(e);
}

void content_reader::visit_call(const call& c) {
  visit(c.callee);
  visit(c.given);
  const auto* n = std::get_if<name_of>(&c.callee->is);
  const auto m = n ? macros_.find(n->name) : macros_.end();
  if (m == macros_.end()) return;
  const auto& parameters = m->second->parameters;
  for (size_t i = 0; i < std::min(parameters.size(), c.given.positional.size()); ++i)
    note(parameters[i].name, c.given.positional[i]);
  for (const auto& [name, e] : c.given.named) note(name, e);
}

void content_reader::visit_statement(const statement& s) {
  std::visit(content_visitors{[](const data&) {}, [](const jump&) {}, [&](const print& p) { visit(p.what); },
                              [&](const assignment& a) {
                                visit(a.what);
                                if (!a.to.unpacks && a.to.names.front().attribute.empty())
                                  note(a.to.names.front().name, a.what);
                              },
                              [&](const block_assignment& a) {
                                visit(a.through);
                                visit(a.content);
                              },
                              [&](const branches& b) {
                                for (const auto& i : b.ifs) {
                                  visit(i.condition);
                                  visit(i.content);
                                }
                                visit(b.otherwise);
                              },
                              [&](const loop& l) {
                                loops_ = loops_ || is_content(l.over);
                                visit(l.over);
                                visit(l.only);
                                visit(l.content);
                                visit(l.otherwise);
                              },
                              [&](const macro_definition& m) {
                                macros_[m.name] = &m;
                                visit(m.content);
                              },
                              [&](const block& b) {
                                for (const auto& [name, e] : b.names) {
                                  visit(e);
                                  note(name, e);
                                }
                                visit(b.content);
                              }},
             s.is);
}

void content_reader::visit_expression(const expression& e) {
  std::visit(content_visitors{[](const literal&) {}, [](const name_of&) {},
                              [&](const list_of& l) {
                                for (const auto& i : l.items) visit(i);
                              },
                              [&](const dict_of_pairs& d) {
                                for (const auto& [key, item] : d.items) {
                                  visit(key);
                                  visit(item);
                                }
                              },
                              [&](const attribute_of& a) { visit(a.of); },
                              [&](const item_of& i) {
                                visit(i.of);
                                visit(i.key);
                              },
                              [&](const slice_of& i) { visit(i.of); }, [&](const call& c) { visit_call(c); },
                              [&](const filtered& f) {
                                visit(f.of);
                                visit(f.given);
                              },
                              [&](const tested& t) {
                                visit(t.of);
                                tests_ = tests_ || (is_content(t.of) && tells_texts(t.by));
                              },
                              [&](const unary& u) { visit(u.of); },
                              [&](const binary& b) {
                                visit(b.left);
                                visit(b.right);
                              },
                              [&](const logical& l) {
                                visit(l.left);
                                visit(l.right);
                              },
                              [&](const concatenation& c) {
                                for (const auto& p : c.parts) visit(p);
                              },
                              [&](const comparison& c) {
                                visit(c.first);
                                for (const auto& [_, other] : c.others) visit(other);
                              },
                              [&](const conditional& c) {
                                visit(c.condition);
                                visit(c.yes);
                                visit(c.no);
                              }},
             e.is);
}

}  // namespace troupe::llm::jinja
