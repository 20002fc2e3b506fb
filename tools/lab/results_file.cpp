#include "tools/lab/results_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>

#include "messages/common/json_text.hpp"

namespace troupe::lab {

namespace {

using json = nlohmann::ordered_json;

/// JSON and CSV have no infinities: null and an empty cell stand for them.
json number(double x) { return std::isfinite(x) ? json(x) : json(nullptr); }
double number_of(const json& x) { return x.is_null() ? HUGE_VAL : x.get<double>(); }
std::string csv_cell(double x) { return std::isfinite(x) ? fmt::format(",{:.6g}", x) : ","; }

json object_of(const std::map<std::string, double>& xs) {
  auto out = json::object();
  for (const auto& [name, x] : xs) out[name] = number(x);
  return out;
}

json json_of(const point& p, const experiment& e) {
  auto at = json::object();
  for (size_t i = 0; i < e.axes.size(); ++i)
    if (p.at[i]) at[e.axes[i].parameter] = *p.at[i];
  auto tables = json::array();
  for (const auto& t : p.tables) {
    auto rows = json::array();
    for (const auto& row : t.rows) {
      auto& out = rows.emplace_back(json::array());
      for (const double x : row) out.push_back(number(x));
    }
    tables.push_back({{"name", t.name}, {"columns", t.columns}, {"rows", std::move(rows)}});
  }
  return {{"case", p.case_name},         {"at", at},
          {"policy", p.policy},          {"metrics", object_of(p.metrics)},
          {"paper", object_of(p.paper)}, {"tables", tables}};
}

json json_of(const claim_result& c) {
  json out{{"text", c.what.text}, {"metric", c.what.metric}};
  if (c.what.at_least) out["at_least"] = *c.what.at_least;
  if (c.what.at_most) out["at_most"] = *c.what.at_most;
  out["paper"] = c.what.paper;
  out["reproduced"] = c.what.reproduced;
  out["because"] = c.what.because;
  out["points"] = c.points;
  out["min"] = number(c.min);
  out["median"] = number(c.median);
  out["max"] = number(c.max);
  out["kept"] = c.kept;
  out["checked"] = c.checked;
  out["holds"] = c.holds;
  out["matches_claim"] = c.matches_claim();
  out["exceptions"] = c.exceptions;
  return out;
}

/// A field of CSV, quoted if necessary.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string{"\"\""} : std::string{c};
  return out + '"';
}

/// case,axes...,policy
std::string labels(const point& p) {
  std::string out = field(p.case_name);
  for (const auto& x : p.at) out += x ? fmt::format(",{}", *x) : ",";
  return out + "," + field(p.policy);
}

std::string label_names(const experiment& e) {
  std::string out = "case";
  for (const auto& a : e.axes) out += "," + a.parameter;
  return out + ",policy";
}

}  // namespace

std::string to_json(const results& r) {
  const auto& e = r.what;
  auto axes = json::array();
  for (const auto& a : e.axes) axes.push_back(a.parameter);
  json document{
      {"experiment", e.name}, {"title", e.title},     {"reproduces", e.reproduces},
      {"says", e.says},       {"differs", e.differs}, {"measure", measure_names[static_cast<size_t>(e.what)]},
      {"quick", r.quick},     {"seconds", r.seconds}, {"axes", axes}};
  auto& points = document["points"] = json::array();
  for (const auto& p : r.points) points.push_back(json_of(p, e));
  auto& claims = document["claims"] = json::array();
  for (const auto& c : r.claims) claims.push_back(json_of(c));
  return json_text(document) + '\n';
}

results results_of_json(const std::string& text, const experiment& e) {
  const auto document = json::parse(text, nullptr, false);
  if (document.is_discarded()) throw std::runtime_error("is not JSON");
  try {
    std::vector<std::string> axes;
    for (const auto& a : e.axes) axes.push_back(a.parameter);
    if (document.at("axes").get<std::vector<std::string>>() != axes)
      throw std::runtime_error("belongs to an experiment with other axes; run it again");
    results out;
    out.what = e;
    out.quick = document.at("quick").get<bool>();
    out.seconds = document.at("seconds").get<double>();
    for (const auto& x : document.at("points")) {
      point p;
      p.case_name = x.at("case").get<std::string>();
      p.policy = x.at("policy").get<std::string>();
      for (const auto& a : axes)
        p.at.push_back(x.at("at").contains(a) ? std::optional{x.at("at").at(a).get<double>()} : std::nullopt);
      for (const auto& [name, value] : x.at("metrics").items()) p.metrics[name] = number_of(value);
      for (const auto& [name, value] : x.at("paper").items()) p.paper[name] = number_of(value);
      for (const auto& t : x.at("tables")) {
        table of{t.at("name").get<std::string>(), t.at("columns").get<std::vector<std::string>>(), {}};
        for (const auto& row : t.at("rows")) {
          auto& out_row = of.rows.emplace_back();
          for (const auto& value : row) out_row.push_back(number_of(value));
        }
        p.tables.push_back(std::move(of));
      }
      out.points.push_back(std::move(p));
    }
    out.claims = judge(e, out.points, out.quick);
    return out;
  } catch (const nlohmann::json::exception& error) {
    const std::string_view what = error.what();  // "[json.exception.out_of_range.403] key 'quick' not found"
    throw std::runtime_error(
        fmt::format("is not the result of an experiment: {}", what.substr(what.find(' ') + 1)));
  }
}

std::string points_csv(const results& r) {
  std::set<std::string> metrics, paper;
  for (const auto& p : r.points) {
    for (const auto& [name, _] : p.metrics) metrics.insert(name);
    for (const auto& [name, _] : p.paper) paper.insert(name);
  }
  std::string out = label_names(r.what);
  for (const auto& name : metrics) {
    out += "," + name;
    if (paper.contains(name)) out += ",paper_" + name;
  }
  out += '\n';
  for (const auto& p : r.points) {
    out += labels(p);
    const auto add = [&](const auto& from, const auto& name) {
      const auto x = from.find(name);
      out += x == from.end() ? "," : csv_cell(x->second);
    };
    for (const auto& name : metrics) {
      add(p.metrics, name);
      if (paper.contains(name)) add(p.paper, name);
    }
    out += '\n';
  }
  return out;
}

std::string tables_csv(const results& r) {
  std::string out;
  std::vector<std::string> columns;
  for (const auto& p : r.points) {
    for (const auto& t : p.tables) {
      if (columns != t.columns) {
        columns = t.columns;
        out += fmt::format("{}{},table,{}\n", out.empty() ? "" : "\n", label_names(r.what),
                           fmt::join(columns, ","));
      }
      for (const auto& row : t.rows) {
        out += labels(p) + "," + field(t.name);
        for (const double x : row) out += csv_cell(x);
        out += '\n';
      }
    }
  }
  return out;
}

void write_file(const std::filesystem::path& file, const std::string& content) {
  errno = 0;
  std::ofstream out{file, std::ios::binary};
  out << content;
  out.close();
  if (!out)
    throw std::runtime_error(fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno)));
}

void write_results(const results& r, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw std::runtime_error(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
  write_file(folder / (r.what.name + ".json"), to_json(r));
  write_file(folder / (r.what.name + ".csv"), points_csv(r));
  if (const auto tables = tables_csv(r); !tables.empty())
    write_file(folder / (r.what.name + "-runs.csv"), tables);
}

}  // namespace troupe::lab
