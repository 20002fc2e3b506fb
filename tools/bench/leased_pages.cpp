#include "tools/bench/leased_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tools/bench/perftest.hpp"
#include "tools/bench/two_nodes.hpp"
#include "transport/memory/leased_pull.hpp"

namespace troupe {

leased_pages::leased_pages(fabric& via, const registered_memory& first_arena)
    : leases_(far_node, incarnation_of_both, first_arena) {
  const auto pages = via.allocate(memory_kind::host, leased_bytes);
  std::ranges::fill(pages.bytes, std::byte{1});  // else all pages are one page of zeros
  const auto lease = leases_.take(0);
  if (!lease) throw std::runtime_error("no memory for a lease");
  name_ = fmt::format("{} {} {}", lease->region.offset, lease->region.generation, pages.offset);
}

page_puller::page_puller(fabric& via, const clock& time)
    : fabric_(via), clock_(time), into_(via.allocate(memory_kind::host, leased_bytes)) {
  std::ranges::fill(into_.bytes, std::byte{2});
}

void page_puller::use(const std::string& pages_name) {
  lease_ = {far_node, incarnation_of_both};
  std::istringstream(pages_name) >> lease_.offset >> lease_.generation >> pages_;
}

double page_puller::leased_bandwidth(size_t page_bytes, int pulls) {
  return double{leased_bytes} / leased_seconds(leased_bytes / page_bytes, page_bytes, page_bytes, pulls) /
         1e9;
}

double page_puller::whole_bandwidth(int pulls) {
  const auto begin = [&](pull_done done) { fabric_.pull(far_node, pages_, into_.bytes, std::move(done)); };
  return double{leased_bytes} / seconds_of_pull(pulls, begin) / 1e9;
}

double page_puller::range_cost(int pulls) {
  constexpr size_t stride = leased_bytes / max_early_ranges;
  const auto all = leased_seconds(max_early_ranges, end_bytes, stride, pulls);
  return (all - leased_seconds(1, end_bytes, stride, pulls)) / (max_early_ranges - 1) * 1e9;
}

double page_puller::leased_seconds(size_t count, size_t page_bytes, size_t stride, int pulls) {
  std::vector<pulled_range> ranges(count);
  for (size_t i = 0; i < count; ++i)
    ranges[i] = {pages_ + i * stride, into_.bytes.subspan(i * stride, page_bytes)};
  std::ranges::shuffle(ranges, std::mt19937(1));
  return seconds_of_pull(pulls,
                         [&](pull_done done) { pull_leased(fabric_, lease_, ranges, std::move(done)); });
}

double page_puller::seconds_of_pull(int pulls, const std::function<void(pull_done)>& begin) {
  std::vector<double> took;
  for (int i = 0; i < pulls; ++i) {
    std::promise<pull_status> done;
    const auto began = clock_.now();
    begin([&](pull_status how) { done.set_value(how); });
    auto end = done.get_future();
    if (end.wait_for(std::chrono::minutes(1)) != std::future_status::ready || end.get() != pull_status::ok)
      throw std::runtime_error("a pull of pages failed");
    took.push_back(to_seconds(clock_.now() - began));
  }
  return median(std::move(took));
}

}  // namespace troupe
