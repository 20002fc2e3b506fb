#include "config/profile_file.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "config/text_file.hpp"

namespace troupe {

namespace {

constexpr std::array<std::string_view, 4> columns{"model", "alpha_ms", "beta_ms", "slo_ms"};
constexpr double max_profile_ms = 3'600'000;

struct cell {
  std::string_view text;
  uint32_t column;
};

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

std::vector<cell> split(std::string_view line) {
  std::vector<cell> out;
  size_t begin = 0;
  while (true) {
    const auto comma = line.find(',', begin);
    const auto text = trimmed(line.substr(begin, comma - begin));
    out.push_back({text, static_cast<uint32_t>((text.empty() ? begin : text.data() - line.data()) + 1)});
    if (comma == std::string_view::npos) return out;
    begin = comma + 1;
  }
}

bool parse(std::string_view text, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(out);
}

class csv_reader {
 public:
  explicit csv_reader(const std::string& file) : file_(file) {}

  void read(std::string_view line) {
    ++line_;
    if (line_ == 1) {
      if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
      read_header(split(line));
    } else if (!trimmed(line).empty()) {
      read_profile(split(line));
    }
  }
  profile_reading take() { return std::move(out_); }
  bool header_is_right() const { return width_ > 0; }

 private:
  void refuse(uint32_t column, std::string text) {
    out_.problems.push_back({{file_, line_, column}, std::move(text)});
  }

  void read_header(const std::vector<cell>& cells) {
    bool right = cells.size() == 3 || cells.size() == 4;
    for (size_t i = 0; right && i < cells.size(); ++i) right = cells[i].text == columns[i];
    if (right) {
      width_ = cells.size();
    } else {
      refuse(1, "the first line must be model,alpha_ms,beta_ms or model,alpha_ms,beta_ms,slo_ms");
    }
  }

  double milliseconds(const cell& c, size_t column, double min) {
    double ms = min;
    if (!parse(c.text, ms) || ms < min || ms > max_profile_ms) {
      right_ = false;
      refuse(c.column, fmt::format("{}: must be milliseconds in {}..{}, not {}", columns[column], min,
                                   max_profile_ms, in_quotes(c.text)));
    }
    return ms;
  }

  void read_profile(const std::vector<cell>& cells) {
    if (cells.size() != width_) {
      return refuse(1, fmt::format("must have {} values, not {}", width_, cells.size()));
    }
    right_ = true;
    profile p;
    p.name = cells[0].text;
    p.where = {file_, line_, cells[0].column};
    if (p.name.empty()) {
      right_ = false;
      refuse(cells[0].column, "model: is empty; give the model's name");
    } else if (!names_.insert(p.name).second) {
      right_ = false;
      refuse(cells[0].column, fmt::format("model: {} is listed twice; remove one", in_quotes(p.name)));
    }
    p.latency.alpha = from_ms(milliseconds(cells[1], 1, 0));
    p.latency.beta = from_ms(milliseconds(cells[2], 2, 0));
    if (width_ == 4) p.slo = from_ms(milliseconds(cells[3], 3, 0.001));
    if (right_ && p.latency(1) <= duration::zero()) {
      right_ = false;
      refuse(cells[1].column, "alpha_ms: alpha_ms and beta_ms cannot both be 0");
    }
    if (right_) out_.profiles.push_back(std::move(p));
  }

  const std::string& file_;
  uint32_t line_ = 0;
  size_t width_ = 0;
  bool right_ = true;
  std::set<std::string, std::less<>> names_;
  profile_reading out_;
};

}  // namespace

profile_reading read_profiles(const std::filesystem::path& file) {
  const auto text = read_text_file(file, pipes::refused);
  if (!text.error.empty()) return {{}, {about_file(file.string(), text.error)}};
  return read_profile_text(text.content, file.string());
}

profile_reading read_profile_text(std::string_view csv, const std::string& file) {
  csv_reader reader{file};
  do {
    const auto end = csv.find('\n');
    reader.read(csv.substr(0, end));
    if (!reader.header_is_right()) break;
    csv.remove_prefix(end == std::string_view::npos ? csv.size() : end + 1);
  } while (!csv.empty());
  return reader.take();
}

}  // namespace troupe
