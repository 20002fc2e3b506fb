#include "actors/scaling/image_followers.hpp"

#include <algorithm>
#include <set>

namespace troupe {
namespace {

constexpr uint32_t max_hashes = 4096;  // of an announcement

}  // namespace

void image_followers::follow(const address& link, const follow_chunks& f,
                             std::shared_ptr<llm::image_set> what) {
  for (auto& [k, former] : all_)
    if (std::get<weights_id>(k) == f.model && std::get<node_id>(k) == link.node) former.told = false;
  if (what && !what->offset()) what.reset();  // they cannot be pulled
  all_[{f.model, link.node, link.incarnation, f.follow}] =
      follower{link, llm::kept_images(std::move(what)), f.first};
}

void image_followers::unfollow(const address& link, const unfollow_chunks& u) {
  all_.erase({u.model, link.node, link.incarnation, u.follow});
}

void image_followers::drop(weights_id model) {
  for (auto& [k, f] : all_)
    if (std::get<weights_id>(k) == model) f.dropped = true;
}

/// Pulls of an earlier incarnation have ended, and so have those over an earlier connection.
void image_followers::up(const node_up& n) {
  std::erase_if(all_, [&](const auto& f) {
    const auto& link = f.second.link;
    return link.node == n.node && (link.incarnation != n.incarnation || f.second.until != never);
  });
}

void image_followers::down(const node_down& n, time_point now) {
  for (auto& [_, f] : all_)
    if (f.link.node == n.node && f.link.incarnation == n.incarnation) f.lose(now);
}

void image_followers::lose_all(time_point now) {
  for (auto& [_, f] : all_) f.lose(now);
}

void image_followers::follower::lose(time_point now) {
  told = false;
  until = std::min(until, now + max_suspension);
}

std::vector<image_followers::announcement> image_followers::news(time_point now) {
  std::vector<announcement> out;
  for (auto& [k, f] : all_)
    if (f.told) announce(k, f, out);
  std::erase_if(all_, [&](const auto& f) { return !f.second.what || now >= f.second.until; });
  return out;
}

void image_followers::announce(const key& k, follower& f, std::vector<announcement>& out) {
  const auto model = std::get<weights_id>(k);
  const auto follow = std::get<uint64_t>(k);
  if (!f.what || f.dropped) {
    f.told = false;
    out.emplace_back(f.link, chunks_ready{model, follow, true, 0, 0, {}});
    return;
  }
  const auto ready = f.what->chunks_ready();
  while (f.next < ready) {
    chunks_ready news{model, follow, false, *f.what->offset(), f.next, {}};
    for (; f.next < ready && news.hashes.size() < max_hashes; ++f.next)
      news.hashes.push_back(f.what->hash(f.next));
    out.emplace_back(f.link, std::move(news));
  }
}

time_point image_followers::next_wakeup() const {
  auto next = never;
  for (const auto& [_, f] : all_) next = std::min(next, f.until);
  return next;
}

uint32_t image_followers::size() const {
  return static_cast<uint32_t>(std::ranges::count_if(all_, [](const auto& f) { return f.second.told; }));
}

uint64_t image_followers::dropped_bytes() const {
  std::set<const llm::image_set*> kept;
  uint64_t bytes = 0;
  for (const auto& [_, f] : all_)
    if (f.dropped && f.what && !f.what.used() && kept.insert(f.what.get().get()).second)
      bytes += f.what->bytes();
  return bytes;
}

}  // namespace troupe
