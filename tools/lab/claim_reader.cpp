#include "tools/lab/claim_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/lab/measure_policies.hpp"

namespace troupe::lab {
namespace {

constexpr double largest_value = std::numeric_limits<double>::max();

class claim_reader {
 public:
  claim_reader(bool axes_complete, experiment& e) : axes_complete_(axes_complete), out_(e) {}

  void read_claim(section& s) {
    claim c;
    c.text = s.text("text");
    c.metric = read_metric(s);
    if (auto* of = s.table("of")) c.of = read_points(*of);
    if (auto* over = s.table("over")) c.over = read_points(*over);
    for (const auto& [key, bound] : {std::pair{"at_least", &c.at_least}, std::pair{"at_most", &c.at_most}}) {
      if (s.has(key)) {
        *bound = number(s, key);
      } else {
        s.unused(key);
      }
    }
    if (!c.at_least && !c.at_most) s.refuse("at_least", "is missing; give at_least, at_most or both");
    if (c.at_least && c.at_most && *c.at_least > *c.at_most)
      s.refuse("at_most", fmt::format("is less than at_least = {}; no value satisfies both", *c.at_least));
    c.points = s.number("points", "a fraction", 0, 1, 1.0);
    c.quick = s.flag("quick", true);
    c.reproduced = s.flag("reproduced", true);
    c.paper = s.text("paper", "");
    c.because = s.text("because", "");
    if (!c.reproduced && c.because.empty())
      s.refuse("because", "is missing; give the reason why this claim is not reproduced");
    out_.claims.push_back(std::move(c));
  }

  void read_paper(section& s) {
    paper_value p;
    const auto problems = s.owner().problem_count();
    p.of = read_selector(s);
    if (s.owner().problem_count() == problems && axes_complete_ && !out_.cases.empty() &&
        !has_point(out_, p.of))
      s.refuse("matches no point of this experiment; give a case and values of it");
    p.metric = read_metric(s);
    p.value = number(s, "value");
    if (!axes_complete_) s.ignore_rest();
    out_.paper.push_back(std::move(p));
  }

 private:
  static double number(section& s, std::string_view key) {
    return s.number(key, "a number", -largest_value, largest_value);
  }

  selector read_selector(section& s) {
    selector out;
    if (s.has("policy")) {
      out.policy = policy_of(s, "policy", out_.policies);
    } else {
      s.unused("policy");
    }
    if (s.has("case")) {
      std::vector<std::string_view> names;
      for (const auto& c : out_.cases) names.push_back(c.name);
      if (const auto i = s.choice("case", names)) out.case_name = out_.cases[*i].name;
    } else {
      s.unused("case");
    }
    for (const auto& a : out_.axes)
      if (!a.parameter.empty() && s.has(a.parameter)) out.at[a.parameter] = number(s, a.parameter);
    return out;
  }

  /// The same for a table without other keys.
  selector read_points(section& s) {
    auto out = read_selector(s);
    if (!axes_complete_) s.ignore_rest();
    return out;
  }

  std::string read_metric(section& s) {
    auto names = metrics_of(out_.what);
    if (out_.relative_to) names.push_back("relative");
    const auto main = std::find(names.begin(), names.end(), main_metric(out_.what)) - names.begin();
    return std::string{names[s.choice("metric", names, static_cast<size_t>(main))]};
  }

  const bool axes_complete_;
  experiment& out_;
};

}  // namespace

void read_claims(section& root, bool axes_complete, experiment& out) {
  claim_reader in(axes_complete, out);
  for (auto* s : root.tables("claim")) in.read_claim(*s);
  for (auto* s : root.tables("paper")) in.read_paper(*s);
}

}  // namespace troupe::lab
