#include "gpu/chat_template/date.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

#include "gpu/chat_template/budget.hpp"

namespace troupe::llm::jinja {

namespace {

constexpr std::string_view days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                     "Thursday", "Friday", "Saturday"};
constexpr std::string_view months[] = {"January", "February", "March",     "April",   "May",      "June",
                                       "July",    "August",   "September", "October", "November", "December"};
constexpr size_t longest_format = 1000;

struct date_time {
  std::chrono::year_month_day day;
  int hour = 0, minute = 0, second = 0;
};

[[noreturn]] void refuse(std::string_view iso) {
  throw refusal(
      fmt::format("strftime_now must be a date, as 2024-07-26 or 2024-07-26T14:05:09, not '{:.40}'", iso));
}

/// The number of `digits` digits at `at`, with the separators around it.
int field(std::string_view iso, size_t at, size_t digits, std::string_view before) {
  if (iso.size() < at + digits || (at > 0 && before.find(iso[at - 1]) == before.npos)) refuse(iso);
  int n = 0;
  const auto* begin = iso.data() + at;
  const auto [end, error] = std::from_chars(begin, begin + digits, n);
  if (error != std::errc{} || end != begin + digits || n < 0) refuse(iso);
  return n;
}

date_time read(std::string_view iso) {
  using namespace std::chrono;
  const auto y = field(iso, 0, 4, ""), m = field(iso, 5, 2, "-"), d = field(iso, 8, 2, "-");
  date_time t{year{y} / m / d};
  if (iso.size() > 10) t.hour = field(iso, 11, 2, "T "), t.minute = field(iso, 14, 2, ":");
  if (iso.size() > 16) t.second = field(iso, 17, 2, ":");
  const bool complete = iso.size() == 10 || iso.size() == 16 || iso.size() == 19;
  if (!complete || !t.day.ok() || t.hour > 23 || t.minute > 59 || t.second > 59) refuse(iso);
  return t;
}

std::string directive(const date_time& t, char c) {
  using namespace std::chrono;
  const auto year = static_cast<int>(t.day.year());
  const auto month = static_cast<unsigned>(t.day.month()), day = static_cast<unsigned>(t.day.day());
  const auto week_day = weekday(sys_days(t.day)).c_encoding();
  const auto hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
  switch (c) {
    case 'd': return fmt::format("{:02}", day);
    case 'e': return fmt::format("{:2}", day);
    case 'm': return fmt::format("{:02}", month);
    case 'y': return fmt::format("{:02}", year % 100);
    case 'Y': return fmt::format("{}", year);
    case 'b': return std::string(months[month - 1].substr(0, 3));
    case 'B': return std::string(months[month - 1]);
    case 'a': return std::string(days[week_day].substr(0, 3));
    case 'A': return std::string(days[week_day]);
    case 'H': return fmt::format("{:02}", t.hour);
    case 'I': return fmt::format("{:02}", hour12);
    case 'M': return fmt::format("{:02}", t.minute);
    case 'S': return fmt::format("{:02}", t.second);
    case 'p': return t.hour < 12 ? "AM" : "PM";
    case 'j': return fmt::format("{:03}", (sys_days(t.day) - sys_days(t.day.year() / 1 / 1)).count() + 1);
    case 'F': return fmt::format("{}-{:02}-{:02}", year, month, day);
    case 'T': return fmt::format("{:02}:{:02}:{:02}", t.hour, t.minute, t.second);
    case '%': return "%";
    default: break;
  }
  throw refusal(fmt::format(
      "strftime_now does not support %{}; supported: %d %e %m %y %Y %b %B %a %A %H %I %M %S %p %j "
      "%F %T %%, and %-d %-m %-H %-I",
      c));
}

}  // namespace

std::string format_date(std::string_view iso, std::string_view format) {
  if (format.size() > longest_format) throw refusal("the format of strftime_now is too long");
  const auto t = read(iso);
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    const auto left = format.size() - i;
    if (left < 2) throw refusal("the format of strftime_now ends in %");
    const bool short_form = format[i + 1] == '-';
    if (short_form && (left < 3 || std::string_view("dmHI").find(format[i + 2]) == std::string_view::npos)) {
      throw refusal("after %- strftime_now supports d, m, H and I");
    }
    i += short_form ? 2 : 1;
    const auto text = directive(t, format[i]);
    out += short_form && text.front() == '0' ? text.substr(1) : text;
  }
  return out;
}

}  // namespace troupe::llm::jinja
