#include "config/multicast_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

#include "messages/common/json_text.hpp"
#include "messages/common/parse_json.hpp"

namespace troupe {
namespace {

using json = nlohmann::json;

[[noreturn]] void refuse(std::string_view place, std::string_view why) {
  throw multicast_file_error(place.empty() ? std::string(why) : fmt::format("{}: {}", place, why));
}

std::string json_quoted(const json& value) {
  auto text = json_text(value);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

class multicast_reader {
 public:
  explicit multicast_reader(const json& document) : document_(document) {
    if (!document.is_object()) refuse("", "the description of a multicast is a JSON object");
    check_keys(document, "",
               {"bytes", "chunks", "lanes", "sources", "targets", "gbit_per_s", "half_rate", "domains",
                "domain_gbit_per_s"});
    p_.bytes = number(required("bytes"), "bytes", 1, 1e18);
    p_.chunks = whole("chunks", 1, 1'000'000);
    p_.lanes = whole("lanes", 1, 1024);
    for (const auto& s : list(required("sources"), "sources")) add_source(s);
    p_.sources = static_cast<uint32_t>(p_.nodes.size());
    if (p_.sources == 0) refuse("sources", "a multicast needs a source");
    for (const auto& t : list(required("targets"), "targets")) add_node(t, place("targets"));
    if (p_.nodes.size() == p_.sources) refuse("targets", "a multicast needs a target");
    read_rates(required("gbit_per_s"));
    read_half_rates();
    read_domains();
  }
  multicast_problem take() { return std::move(p_); }

 private:
  const json& required(const char* key) const {
    const auto at = document_.find(key);
    if (at == document_.end()) refuse("", fmt::format("\"{}\" is missing", key));
    return *at;
  }
  static void check_keys(const json& object, std::string_view where,
                         std::initializer_list<std::string_view> known) {
    for (const auto& [key, _] : object.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        refuse(where, fmt::format("there is no key {}; there are {}", json_quoted(json(key)),
                                  fmt::join(known, ", ")));
  }
  static double number(const json& value, const std::string& where, double min, double max) {
    const double x = value.is_number() ? value.get<double>() : std::nan("");
    if (!(x >= min && x <= max))
      refuse(where, fmt::format("{} is not a number from {} to {}", json_quoted(value), min, max));
    return x;
  }
  uint32_t whole(const char* key, uint32_t min, uint32_t max) const {
    const auto at = document_.find(key);
    if (at == document_.end()) return 1;
    const double x = number(*at, key, min, max);
    if (x != std::floor(x)) refuse(key, fmt::format("{} is not a whole number", json_quoted(*at)));
    return static_cast<uint32_t>(x);
  }
  static const json& list(const json& value, const std::string& where) {
    if (!value.is_array()) refuse(where, fmt::format("{} is not a list", json_quoted(value)));
    return value;
  }
  std::string place(const char* list) const {
    return fmt::format("{}[{}]", list, p_.nodes.size() - p_.sources);
  }

  void add_node(const json& name, const std::string& where) {
    if (!name.is_string() || name.get_ref<const std::string&>().empty())
      refuse(where, fmt::format("{} is not a name", json_quoted(name)));
    if (p_.nodes.size() == max_multicast_nodes)
      refuse(where, fmt::format("there are more than {} sources and targets", max_multicast_nodes));
    const auto& text = name.get_ref<const std::string&>();
    if (!by_name_.emplace(text, p_.size()).second)
      refuse(where, fmt::format("{} is named twice", json_quoted(name)));
    p_.nodes.push_back({text, false, false, no_scale_up_domain});
  }
  void add_source(const json& s) {
    const auto where = place("sources");
    if (!s.is_object()) refuse(where, R"(a source is an object, such as {"name": "S", "busy": false})");
    check_keys(s, where, {"name", "busy", "kind"});
    add_node(s.value("name", json()), where + ".name");
    if (const auto busy = s.find("busy"); busy != s.end()) {
      if (!busy->is_boolean())
        refuse(where + ".busy", fmt::format("{} is not true or false", json_quoted(*busy)));
      p_.nodes.back().busy = busy->get<bool>();
    }
    if (const auto kind = s.find("kind"); kind != s.end() && *kind != "gpu" && *kind != "host")
      refuse(where + ".kind", fmt::format("{} is not \"gpu\" or \"host\"", json_quoted(*kind)));
  }
  uint32_t node(const json& name, const std::string& where) const {
    const auto at = name.is_string() ? by_name_.find(name.get_ref<const std::string&>()) : by_name_.end();
    if (at == by_name_.end())
      refuse(where, fmt::format("no source or target is named {}", json_quoted(name)));
    return at->second;
  }

  void read_rates(const json& rates) {
    if (!rates.is_object()) refuse("gbit_per_s", R"(rates are an object, such as {"S": {"T1": 100}})");
    p_.gbit_per_s.assign(p_.nodes.size() * p_.nodes.size(), 0);
    for (const auto& [from, row] : rates.items()) {
      const auto where = "gbit_per_s." + from;
      const auto a = node(from, where);
      if (!row.is_object()) refuse(where, R"(rates from a node are an object, such as {"T1": 100})");
      for (const auto& [to, rate] : row.items()) {
        const auto b = node(to, where + "." + to);
        p_.gbit_per_s[size_t{a} * p_.nodes.size() + b] = number(rate, where + "." + to, 0, 1e9);
      }
    }
  }
  void read_half_rates() {
    const auto at = document_.find("half_rate");
    if (at == document_.end()) return;
    for (const auto& name : list(*at, "half_rate")) {
      const auto n = node(name, "half_rate");
      if (p_.is_source(n)) refuse("half_rate", fmt::format("{} is a source", json_quoted(name)));
      p_.nodes[n].half_rate = true;
    }
  }
  void read_domains() {
    if (const auto rate = document_.find("domain_gbit_per_s"); rate != document_.end())
      p_.domain_gbit_per_s = number(*rate, "domain_gbit_per_s", 1e-9, 1e9);
    const auto at = document_.find("domains");
    if (at == document_.end()) return;
    uint32_t domain = 0;
    for (const auto& members : list(*at, "domains")) {
      const auto where = fmt::format("domains[{}]", domain);
      for (const auto& name : list(members, where)) {
        auto& n = p_.nodes[node(name, where)];
        if (n.domain != no_scale_up_domain && n.domain != domain)
          refuse(where, fmt::format("{} is in domains[{}] already", json_quoted(name), n.domain));
        n.domain = domain;
      }
      ++domain;
    }
    if (domain > 0 && p_.domain_gbit_per_s == 0)
      refuse("", "\"domain_gbit_per_s\" is missing: domains need the rate of their interconnect");
  }

  const json& document_;
  multicast_problem p_;
  std::unordered_map<std::string, uint32_t> by_name_;
};

}  // namespace

multicast_problem read_multicast(std::string_view text) {
  const auto document = parse_json(text);
  if (document.is_discarded()) refuse("", "it is not a JSON document, or it is nested too deeply");
  auto problem = multicast_reader(document).take();
  try {
    check(problem);
  } catch (const std::invalid_argument& e) {
    refuse("gbit_per_s", e.what());
  }
  return problem;
}

}  // namespace troupe
