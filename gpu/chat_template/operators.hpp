// The operators on values, with Python's semantics. All throw refusal with Python's reason where Python
// throws.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/chat_template/value.hpp"

namespace troupe::llm::jinja {

enum class arithmetic : uint8_t { add, subtract, multiply, divide, floor_divide, modulo, power };
enum class relation : uint8_t { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };

value calculate(arithmetic op, const value& a, const value& b, budget& cost);
value negate(const value& v);
/// Unary plus.
value plus(const value& v);

bool equal(const value& a, const value& b, budget& cost);
bool less(const value& a, const value& b, budget& cost);
bool contains(const value& container, const value& item, budget& cost);
bool holds(relation r, const value& a, const value& b, budget& cost);

/// a.name: the type's attribute of that name, else the item of that name, else undefined.
value get_attribute(const value& v, std::string_view name, budget& cost);
/// a[key]: the item, else the attribute, else undefined.
value get_item(const value& v, const value& key, budget& cost);
/// a[from:to:step]. None and undefined stand for the ends of the sequence.
value get_slice(const value& v, const value& from, const value& to, const value& step, budget& cost);

/// text::replace within the budget.
std::string replace_bounded(std::string_view s, std::string_view part, std::string_view by, int64_t max_count,
                            budget& cost);

}  // namespace troupe::llm::jinja
