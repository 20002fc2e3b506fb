#include <fmt/format.h>

#include <cmath>

#include "gpu/chat_template/operators.hpp"
#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

constexpr std::string_view operator_symbols[] = {"+", "-", "*", "/", "//", "%", "**"};

[[noreturn]] void refuse_types(arithmetic op, const value& a, const value& b) {
  if (is_undefined(a)) refuse_undefined(a);
  if (is_undefined(b)) refuse_undefined(b);
  throw refusal(fmt::format("unsupported operand types for {}: '{}' and '{}'",
                            operator_symbols[static_cast<size_t>(op)], type_name(a), type_name(b)));
}

[[noreturn]] void refuse_overflow() { throw refusal("a whole number does not fit into 64 bits"); }
[[noreturn]] void refuse_zero() { throw refusal("division by zero"); }

bool real_of(const value& v, double& out) {
  if (const auto* d = std::get_if<double>(&v)) {
    out = *d;
    return true;
  }
  int64_t n = 0;
  if (!integer_of(v, n)) return false;
  out = static_cast<double>(n);
  return true;
}

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) refuse_zero();
  if (b == -1) {
    if (a == INT64_MIN) refuse_overflow();
    return -a;
  }
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t modulo(int64_t a, int64_t b) {
  if (b == 0) refuse_zero();
  if (b == -1) return 0;
  const auto m = a % b;
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

int64_t multiply(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) refuse_overflow();
  return out;
}

double power(double a, double b) {
  if (a == 0 && b < 0) refuse_zero();
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::trunc(b)) {
    throw refusal("a negative number to a fractional power is complex");
  }
  const auto out = std::pow(a, b);
  if (std::isinf(out) && std::isfinite(a) && std::isfinite(b)) throw refusal("the number is too large");
  return out;
}

value power(int64_t a, int64_t b) {
  if (b < 0) return power(static_cast<double>(a), static_cast<double>(b));
  int64_t out = 1;
  if (a == 0 || a == 1 || a == -1) return b == 0 ? out : a == -1 && b % 2 == 0 ? out : a;
  for (; b > 0; --b) out = multiply(out, a);  // at most 63 times
  return out;
}

value calculate(arithmetic op, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case arithmetic::add:
      if (__builtin_add_overflow(a, b, &out)) refuse_overflow();
      return out;
    case arithmetic::subtract:
      if (__builtin_sub_overflow(a, b, &out)) refuse_overflow();
      return out;
    case arithmetic::multiply: return multiply(a, b);
    case arithmetic::divide:
      if (b == 0) refuse_zero();
      return static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b));
    case arithmetic::floor_divide: return floor_divide(a, b);
    case arithmetic::modulo: return modulo(a, b);
    case arithmetic::power: return power(a, b);
  }
  return none{};
}

double modulo(double a, double b) {
  auto m = std::fmod(a, b);
  if (m == 0) return std::copysign(0.0, b);
  return (m < 0) != (b < 0) ? m + b : m;
}

/// CPython's algorithm, so that the last digit is the same.
double floor_divide(double a, double b) {
  const auto m = std::fmod(a, b);
  auto quotient = (a - m) / b;
  if (m != 0 && (m < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const auto floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

value calculate(arithmetic op, double a, double b) {
  switch (op) {
    case arithmetic::add: return a + b;
    case arithmetic::subtract: return a - b;
    case arithmetic::multiply: return a * b;
    case arithmetic::power: return power(a, b);
    default: break;
  }
  if (b == 0) refuse_zero();
  if (op == arithmetic::divide) return a / b;
  return op == arithmetic::modulo ? modulo(a, b) : floor_divide(a, b);
}

/// Repeats a text or a list.
value repeat(const value& v, int64_t times, budget& cost) {
  const auto* t = text_of(v);
  const auto* s = sequence_of(v);
  const auto size = t != nullptr ? t->size() : s->items.size();
  const auto n = size == 0 || times < 0 ? uint64_t{0} : static_cast<uint64_t>(times);
  if (n > max_text_bytes) cost.spend_bytes(n);  // throws
  if (t != nullptr) {
    cost.spend_bytes(size * n);
    std::string out;
    out.reserve(size * n);
    for (uint64_t i = 0; i < n; ++i) out += *t;
    return make_text(out);
  }
  cost.spend_items(size * n);
  std::vector<value> items;
  items.reserve(size * n);
  for (uint64_t i = 0; i < n; ++i) items.insert(items.end(), s->items.begin(), s->items.end());
  return make_sequence(s->kind, std::move(items));
}

bool repeats(const value& v) {
  return text_of(v) != nullptr || sequence_of(v, sequence_kind::list) != nullptr ||
         sequence_of(v, sequence_kind::tuple) != nullptr;
}

value join(arithmetic op, const value& a, const value& b, budget& cost) {
  if (const auto* x = text_of(a), *y = text_of(b); x != nullptr && y != nullptr) {
    cost.spend_bytes(x->size() + y->size());
    return std::make_shared<const std::string>(*x + *y);
  }
  const auto *x = sequence_of(a), *y = sequence_of(b);
  if (x == nullptr || y == nullptr || x->kind != y->kind || !repeats(a)) refuse_types(op, a, b);
  cost.spend_items(x->items.size() + y->items.size());
  auto items = x->items;
  items.insert(items.end(), y->items.begin(), y->items.end());
  return make_sequence(x->kind, std::move(items));
}

}  // namespace

value calculate(arithmetic op, const value& a, const value& b, budget& cost) {
  cost.spend();
  int64_t m = 0, n = 0;
  if (integer_of(a, m) && integer_of(b, n)) return calculate(op, m, n);
  double x = 0, y = 0;
  if (real_of(a, x) && real_of(b, y)) return calculate(op, x, y);
  if (op == arithmetic::add) return join(op, a, b, cost);
  if (op == arithmetic::multiply && repeats(a) && integer_of(b, n)) return repeat(a, n, cost);
  if (op == arithmetic::multiply && integer_of(a, n) && repeats(b)) return repeat(b, n, cost);
  if (op == arithmetic::modulo && text_of(a) != nullptr && !is_undefined(b)) {
    throw refusal("formatting a string with % is not supported: join strings with ~");
  }
  refuse_types(op, a, b);
}

value negate(const value& v) {
  if (const auto* d = std::get_if<double>(&v)) return -*d;
  int64_t n = 0;
  if (integer_of(v, n)) return calculate(arithmetic::subtract, int64_t{0}, n);
  if (is_undefined(v)) refuse_undefined(v);
  throw refusal(fmt::format("bad operand type for unary -: '{}'", type_name(v)));
}

value plus(const value& v) {
  if (std::holds_alternative<double>(v)) return v;
  if (int64_t n = 0; integer_of(v, n)) return n;
  if (is_undefined(v)) refuse_undefined(v);
  throw refusal(fmt::format("bad operand type for unary +: '{}'", type_name(v)));
}

std::string replace_bounded(std::string_view s, std::string_view part, std::string_view by, int64_t max_count,
                            budget& cost) {
  cost.spend_bytes(s.size());
  const auto times = part.empty() ? s.size() + 1 : text::count(s, part, max_count);
  cost.spend_bytes(s.size() + times * by.size());
  return text::replace(s, part, by, max_count);
}

}  // namespace troupe::llm::jinja
