#include "actors/scaling/image_followers.hpp"

namespace troupe {
namespace {

constexpr uint32_t max_hashes = 4096;  // of an announcement

}  // namespace

void image_followers::follow(const address& link, const follow_chunks& f, images what) {
  if (what && !what->offset()) what.reset();  // they cannot be pulled
  all_[{f.model, link.node}] = {link, f.follow, std::move(what), f.first};
}

void image_followers::drop(weights_id model) {
  for (auto& [key, f] : all_)
    if (key.first == model) f.what.reset();
}

void image_followers::down(const node_down& n) {
  std::erase_if(all_, [&](const auto& f) {
    return f.second.link.node == n.node && f.second.link.incarnation == n.incarnation;
  });
}

std::vector<image_followers::announcement> image_followers::news() {
  std::vector<announcement> out;
  for (auto& [key, f] : all_)
    if (f.what)
      announce(key.first, f, out);
    else
      out.emplace_back(f.link, chunks_ready{key.first, f.follow, true, 0, 0, {}});
  std::erase_if(all_, [](const auto& f) { return !f.second.what; });
  return out;
}

void image_followers::announce(weights_id model, follower& f, std::vector<announcement>& out) {
  const auto ready = f.what->chunks_ready();
  while (f.next < ready) {
    chunks_ready news{model, f.follow, false, *f.what->offset(), f.next, {}};
    for (; f.next < ready && news.hashes.size() < max_hashes; ++f.next)
      news.hashes.push_back(f.what->hash(f.next));
    out.emplace_back(f.link, std::move(news));
  }
}

}  // namespace troupe
