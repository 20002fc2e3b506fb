#include "actors/tensor/open_requests.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

std::vector<open_request> with_ids(std::initializer_list<uint64_t> ids) {
  std::vector<open_request> out;
  for (const auto id : ids) out.emplace_back().id = request_id{id};
  return out;
}

std::vector<uint64_t> ids_of(const open_requests& r) {
  std::vector<uint64_t> out;
  for (const auto& x : r.requests) out.push_back(x.id.value);
  return out;
}

}  // namespace

TEST_CASE("open_requests: requests with the lowest ids are listed, and all are counted") {
  const auto r = answer_to({3}, with_ids({9, 2, 7, 4, 8}));
  CHECK(ids_of(r) == std::vector<uint64_t>{2, 4, 7});
  CHECK(r.total == 5);
}

TEST_CASE("open_requests: a limit above their number lists all") {
  CHECK(ids_of(answer_to({100}, with_ids({3, 1}))) == std::vector<uint64_t>{1, 3});
  CHECK(answer_to({100}, {}).total == 0);
  CHECK(answer_to({0}, with_ids({3, 1})).requests.empty());
}

TEST_CASE("open_requests: the length of a list is bounded") {
  std::vector<open_request> all(longest_list + 5);
  for (size_t i = 0; i < all.size(); ++i) all[i].id = request_id{all.size() - i};
  const auto r = answer_to({longest_list + 3}, std::move(all));
  CHECK(r.requests.size() == longest_list);
  CHECK(r.requests.back().id == request_id{longest_list});
  CHECK(r.total == longest_list + 5);
}
