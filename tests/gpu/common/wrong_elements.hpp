// The elements of a result that differ from the expected ones, as a failed check prints them:
//
//   CHECK( 12 of 4096 wrong, the first at 37: expected 0.25, found nan == 0 )
//
// tools/gpu_check takes such lines into its report.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <ostream>
#include <string>

namespace troupe {

class wrong_elements {
 public:
  /// Counts element `at` of the result as compared, and as wrong unless `right`.
  void check(bool right, size_t at, double expected, double found) {
    ++compared_;
    if (right || wrong_++ > 0) return;
    first_ = at, expected_ = expected, found_ = found;
  }
  friend bool operator==(const wrong_elements& w, size_t count) { return w.wrong_ == count; }
  friend std::ostream& operator<<(std::ostream& out, const wrong_elements& w) {
    out << w.wrong_ << " of " << w.compared_ << " wrong";
    if (w.wrong_ == 0) return out;
    return out << ", the first at " << w.first_ << ": expected " << text(w.expected_) << ", found "
               << text(w.found_);
  }

 private:
  /// A NaN has no sign here.
  static std::string text(double number) {
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%.9g", std::isnan(number) ? std::abs(number) : number);
    return digits.data();
  }

  size_t compared_ = 0, wrong_ = 0, first_ = 0;
  double expected_ = 0, found_ = 0;
};

/// The elements of `found` (size(), operator[]) that are further than `error` from those of `expected`. A
/// missing element is wrong, too.
template <class Found, class Expected>
wrong_elements differences(const Found& found, const Expected& expected, double error = 0) {
  wrong_elements wrong;
  const auto number = [](const auto& numbers, size_t i) {
    return i < numbers.size() ? static_cast<double>(numbers[i]) : std::numeric_limits<double>::quiet_NaN();
  };
  for (size_t i = 0; i < found.size() || i < expected.size(); ++i) {
    const double f = number(found, i), e = number(expected, i);
    wrong.check(f == e || std::abs(f - e) <= error, i, e, f);
  }
  return wrong;
}

/// The same for results whose relative error is bounded: further than `error` times the largest expected
/// number.
template <class Found, class Expected>
wrong_elements large_differences(const Found& found, const Expected& expected, double error) {
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  return differences(found, expected, error * largest);
}

}  // namespace troupe
