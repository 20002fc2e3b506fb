#include "actors/scaling/image_followers.hpp"

#include <memory>
#include <utility>

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
    auto all = followers.news(now);
    REQUIRE(all.size() == 1);
    CHECK(all[0].first == link);
    return std::move(all[0].second);
  }

  void unfollow(const address& link, uint64_t number) { followers.unfollow(link, {followed_model, number}); }
  /// The images are dropped, and the news of it are out.
  void drop() {
    kept = std::exchange(images, nullptr);
    followers.drop(followed_model);
    followers.news(now);
  }
  /// Followers keep the dropped images in memory.
  bool keep_dropped() {
    followers.news(now);
    CHECK(followers.dropped_bytes() == (kept.expired() ? 0 : 192));
    return !kept.expired();
  }

  time_point now = at(1000);
  std::weak_ptr<llm::image_set> kept;
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
  CHECK(s.followers.news(s.now).empty());
  s.follow(follower_on(second_source), 3, 2);
  CHECK(s.followers.news(s.now).empty());
  write_next_chunk(*s.images);
  const auto later = s.followers.news(s.now);
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
  const auto news = s.followers.news(s.now);
  REQUIRE(news.size() == 2);
  CHECK(news[0].second.hashes.size() == 4096);
  CHECK(news[1].second.first == 4096);
  CHECK(news[1].second.hashes.size() == 904);
}

TEST_CASE("image followers: a node is told news of its latest follow, until this incarnation ends") {
  followers_stage s;
  write_next_chunk(*s.images);
  s.follow(follower_on(first_source), 7);
  s.follow(follower_on(first_source, 2), 1);
  CHECK(s.news_for(follower_on(first_source, 2)).follow == 1);
  CHECK(s.followers.size() == 1);
  s.followers.down({first_source, {1}}, s.now);
  CHECK(s.followers.size() == 1);
  s.followers.down({first_source, {2}}, s.now);
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
  CHECK(s.followers.news(s.now).empty());
  CHECK(s.followers.size() == 0);
}

TEST_CASE("image followers: dropped images stay until each follower has no pull of them under way") {
  followers_stage s;
  s.follow(follower_on(first_source), 7);
  s.follow(follower_on(second_source), 3);
  s.drop();
  CHECK(s.followers.size() == 0);
  CHECK(s.keep_dropped());
  s.unfollow(follower_on(first_source), 6);
  s.unfollow(follower_on(first_source, 2), 7);
  s.unfollow(follower_on(first_source), 7);
  CHECK(s.keep_dropped());
  s.unfollow(follower_on(second_source), 3);
  CHECK_FALSE(s.keep_dropped());
}

TEST_CASE("image followers: pulls of a former follow may go on beside those of the latest one") {
  followers_stage s;
  s.follow(follower_on(first_source), 7);
  s.drop();
  s.store.forget(followed_model);
  s.images = s.store.create(followed_model, 0);
  write_next_chunk(*s.images);
  s.follow(follower_on(first_source), 8);
  CHECK(s.news_for(follower_on(first_source)).follow == 8);
  CHECK(s.keep_dropped());
  s.unfollow(follower_on(first_source), 7);
  CHECK_FALSE(s.keep_dropped());
  CHECK(s.followers.size() == 1);
}

TEST_CASE("image followers: one that is down keeps images until its node is up again, or for 30 s") {
  enum class order { down_first, drop_first, own_node };
  for (const auto what : {order::down_first, order::drop_first, order::own_node})
    for (const bool comes_up : {false, true}) {
      CAPTURE(static_cast<int>(what));
      CAPTURE(comes_up);
      followers_stage s;
      s.follow(follower_on(first_source), 7);
      if (what == order::drop_first) s.drop();
      if (what == order::own_node)
        s.followers.lose_all(s.now);
      else
        s.followers.down({first_source, {1}}, s.now);
      if (what != order::drop_first) s.drop();
      const uint64_t next_incarnation = what == order::own_node ? 1 : 2;
      CHECK(s.followers.size() == 0);
      CHECK(s.followers.next_wakeup() == s.now + 30s);
      s.now += 30s - 1ns;
      s.followers.down({first_source, {1}}, s.now);  // changes nothing
      s.followers.up({second_source, {1}});
      CHECK(s.keep_dropped());
      if (comes_up)
        s.followers.up({first_source, {next_incarnation}});
      else
        s.now += 1ns;
      CHECK_FALSE(s.keep_dropped());
      CHECK(s.followers.next_wakeup() == never);
    }
}

TEST_CASE("image followers: a follower that comes up keeps what it follows in this incarnation") {
  followers_stage s;
  s.follow(follower_on(first_source, 1), 7);
  s.follow(follower_on(first_source, 2), 1);
  s.followers.up({first_source, {2}});
  s.drop();
  CHECK(s.keep_dropped());
  s.unfollow(follower_on(first_source, 2), 1);
  CHECK_FALSE(s.keep_dropped());
}

TEST_CASE("image followers: dropped images that somebody else uses are not given back with them") {
  followers_stage s;
  s.follow(follower_on(first_source), 7);
  s.follow(follower_on(second_source), 3);
  auto engine = s.images;
  s.drop();
  CHECK(s.followers.dropped_bytes() == 0);
  engine.reset();
  CHECK(s.followers.dropped_bytes() == 192);
}
