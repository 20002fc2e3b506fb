#include "actors/scaling/image_followers.hpp"

#include "tests/actors/scaling/image_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr weights_id followed_model{0}, another_model{1};

constexpr address follower_on(node_id n, uint64_t incarnation = 1) {
  return {n, {incarnation}, role::chain_link, 0};
}

struct followers_stage {
  void follow(const address& link, uint64_t number, uint32_t first = 0) {
    followers.follow(link, {followed_model, number, first}, images);
  }
  /// The only news, which are for this link.
  chunks_ready news_for(const address& link) {
    auto all = followers.news();
    REQUIRE(all.size() == 1);
    CHECK(all[0].first == link);
    return std::move(all[0].second);
  }

  tiny_image_store store;
  std::shared_ptr<llm::image_set> images = store.create(followed_model, 0);
  image_followers followers;
};

}  // namespace

TEST_CASE("image followers: they learn the chunks that are there, and each later one, once") {
  followers_stage s;
  write_next_chunk(*s.images);
  write_next_chunk(*s.images);
  s.follow(follower_on(first_source), 7);
  const std::vector hashes{hash_of(*s.images, 0), hash_of(*s.images, 1)};
  CHECK(s.news_for(follower_on(first_source)) ==
        chunks_ready{followed_model, 7, false, *s.images->offset(), 0, hashes});
  CHECK(s.followers.news().empty());
  s.follow(follower_on(second_source), 3, 2);
  CHECK(s.followers.news().empty());
  write_next_chunk(*s.images);
  const auto later = s.followers.news();
  REQUIRE(later.size() == 2);
  CHECK(later[0].second.first == 2);
  CHECK(later[1].second ==
        chunks_ready{followed_model, 3, false, *s.images->offset(), 2, std::vector{hash_of(*s.images, 2)}});
  CHECK(s.followers.size() == 2);
}

TEST_CASE("image followers: many chunks come in several announcements") {
  followers_stage s;
  tiny_image_store large;
  const auto files = weights_of(model_id{1});
  s.images = large.create(files, 5000 * tiny_chunk_bytes);
  write_all_chunks(*s.images);
  s.follow(follower_on(first_source), 1);
  const auto news = s.followers.news();
  REQUIRE(news.size() == 2);
  CHECK(news[0].second.hashes.size() == 4096);
  CHECK(news[1].second.first == 4096);
  CHECK(news[1].second.hashes.size() == 904);
}

TEST_CASE("image followers: a node follows with its latest message, until this incarnation ends") {
  followers_stage s;
  write_next_chunk(*s.images);
  s.follow(follower_on(first_source), 7);
  s.follow(follower_on(first_source, 2), 1);
  CHECK(s.news_for(follower_on(first_source, 2)).follow == 1);
  CHECK(s.followers.size() == 1);
  s.followers.down({first_source, {1}});
  CHECK(s.followers.size() == 1);
  s.followers.down({first_source, {2}});
  CHECK(s.followers.size() == 0);
}

TEST_CASE("image followers: they are told once that images are gone") {
  followers_stage s;
  SUBCASE("there are none") { s.images.reset(); }
  SUBCASE("they cannot be pulled") {
    s.store.in_arena = false;
    s.images = s.store.create(another_model, 0);
  }
  SUBCASE("they are dropped") {}
  s.follow(follower_on(first_source), 8);
  s.followers.drop(another_model);
  s.followers.drop(followed_model);
  const auto news = s.news_for(follower_on(first_source));
  CHECK(news == chunks_ready{followed_model, 8, true, 0, 0, {}});
  CHECK(s.followers.news().empty());
  CHECK(s.followers.size() == 0);
}
