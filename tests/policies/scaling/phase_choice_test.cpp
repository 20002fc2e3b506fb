#include "policies/scaling/phase_choice.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace troupe;

namespace {

constexpr auto as_prefill = instance_phase::prefill, as_decode = instance_phase::decode,
               as_both = instance_phase::both;

/// "2>decode": engine 2 is to decode.
std::string chosen(const std::vector<phased_instance>& serving, uint32_t starting, uint32_t wanted_prefill) {
  std::string out;
  for (const auto& o : choose_phases(serving, starting, wanted_prefill))
    out += (out.empty() ? "" : " ") + std::to_string(o.engine.value) + ">" + std::string(to_string(o.to));
  return out;
}

}  // namespace

TEST_CASE("phase choice: instances that have their phases keep them") {
  CHECK(chosen({}, 2, 1).empty());
  CHECK(chosen({{{0}, as_prefill}, {{1}, as_decode}}, 0, 1).empty());
  CHECK(chosen({{{0}, as_decode}, {{1}, as_decode}, {{2}, as_prefill}}, 0, 1).empty());
}

TEST_CASE("phase choice: the first instance prefills, and what has just loaded becomes what is missing") {
  CHECK(chosen({{{3}, as_both}}, 1, 1) == "3>prefill");
  CHECK(chosen({{{0}, as_prefill}, {{1}, as_prefill}}, 0, 1) == "0>decode");
  CHECK(chosen({{{0}, as_prefill, 5}, {{1}, as_prefill, 2}, {{2}, as_decode, 9}}, 0, 1) == "1>decode");
}

TEST_CASE("phase choice: more to decode come from those that prefill, while others load to replace these") {
  const std::vector<phased_instance> serving{{{0}, as_prefill, 7}, {{1}, as_prefill, 3}, {{2}, as_decode, 9}};
  CHECK(chosen(serving, 1, 2) == "1>decode");
  CHECK(chosen(serving, 2, 2) == "1>decode");  // one keeps to prefill
  CHECK(chosen(serving, 1, 3).empty());
}

TEST_CASE("phase choice: those with the fewest sequences prefill when fewer are to decode") {
  CHECK(chosen({{{0}, as_prefill}, {{1}, as_decode, 9}, {{2}, as_decode, 1}, {{3}, as_decode, 5}}, 0, 2) ==
        "2>prefill");
  CHECK(chosen({{{0}, as_decode, 3}, {{1}, as_decode, 4}}, 0, 1) == "0>prefill");
}

TEST_CASE("phase choice: only instances that stay count, by model") {
  scaling_view v;
  v.models = {{{0}, "a", 3, 0, 1}, {{1}, "b", 2, 0, 0}};
  const auto place = [&](uint32_t engine, uint32_t model, instance_stage stage, instance_phase phase) {
    scaling_view::place p{{engine}, {model}, node_id{engine}, stage};
    p.phase = phase;
    v.places.push_back(p);
    v.nodes.emplace_back().id = node_id{engine};
  };
  place(0, 0, instance_stage::serving, as_prefill);
  place(1, 0, instance_stage::serving, as_prefill);
  place(2, 0, instance_stage::parked, as_decode);
  place(3, 0, instance_stage::serving, as_decode);
  place(4, 1, instance_stage::serving, as_both);
  instance_choice c;
  c.starting = {{2}};
  CHECK(choose_phases(v, c) == std::vector<phase_order>{{{0}, as_decode}});
  c.orders = {{{3}, instance_stage::parked}};
  c.starting = {};
  CHECK(choose_phases(v, c) == std::vector<phase_order>{{{0}, as_decode}});
  v.nodes[0].leaving = true;
  CHECK(choose_phases(v, c).empty());
}
