#include "transport/fabric/tls/write_queue.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/fabric/pull_range.hpp"

namespace troupe::tls {

/// The last piece if the bytes fit into it, else a new one.
write_queue::piece& write_queue::room_for(size_t bytes) {
  if (!pieces_.empty()) {
    auto& last = pieces_.back();
    if (last.range.empty() && last.bytes.size() + bytes <= together) return last;
  }
  pieces_.emplace_back().bytes = std::exchange(spare_, {});
  return pieces_.back();
}

void write_queue::append(piece& to, const void* data, size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  to.bytes.insert(to.bytes.end(), from, from + bytes);
}

void write_queue::add(const hello& greeting) {
  append(room_for(sizeof greeting), &greeting, sizeof greeting);
}

void write_queue::add_frame(std::vector<std::byte> frame) {
  const head h{message_kind::frame, static_cast<uint32_t>(frame.size())};
  const bool small = sizeof h + frame.size() <= together;
  auto* p = &room_for(sizeof h + (small ? frame.size() : 0));
  append(*p, &h, sizeof h);
  const size_t bytes = frame.size();
  if (small)
    append(*p, frame.data(), frame.size());
  else
    (p = &pieces_.emplace_back())->bytes = std::move(frame);
  p->frames += 1;
  p->frame_bytes += bytes;
  frames_ += 1;
  frame_bytes_ += bytes;
}

void write_queue::add_pull(uint64_t offset, uint64_t size) {
  const head h{message_kind::pull, sizeof(pull_range)};
  const pull_range range{offset, size};
  auto& p = room_for(sizeof h + sizeof range);
  append(p, &h, sizeof h);
  append(p, &range, sizeof range);
}

void write_queue::add_answer(std::span<const std::byte> range) {
  const head h{message_kind::answer, 0};
  const bool ends_only = range.size() <= 2 * end_bytes;
  auto& p = room_for(sizeof h + 2 * end_bytes);
  append(p, &h, sizeof h);
  if (ends_only)
    append(p, range.data(), range.size());
  else
    p.range = range;
}

void write_queue::add_refusal() {
  const head h{message_kind::refusal, 0};
  append(room_for(sizeof h), &h, sizeof h);
}

channel::result write_queue::write(channel& to) {
  while (!pieces_.empty()) {
    auto& p = pieces_.front();
    auto r = write_bytes(p, to);
    if (r != channel::result::done) return r;
    if (!p.range.empty()) {
      r = write_range(p, to);
      if (r != channel::result::done) return r;
      continue;  // with its ends
    }
    frames_ -= p.frames;
    frame_bytes_ -= p.frame_bytes;
    if (p.bytes.capacity() <= 4 * together) {
      spare_ = std::move(p.bytes);
      spare_.clear();
    }
    pieces_.pop_front();
  }
  return channel::result::done;
}

channel::result write_queue::write_bytes(piece& p, channel& to) {
  if (p.bytes.empty()) return channel::result::done;
  auto rest = std::span<const std::byte>(p.bytes).subspan(p.written);
  const auto r = to.write(rest);
  p.written = p.bytes.size() - rest.size();
  if (r == channel::result::done && !p.range.empty()) {
    p.bytes.clear();
    p.written = 0;
  }
  return r;
}

/// Turns the piece into the ends of its range once the rest is written.
channel::result write_queue::write_range(piece& p, channel& to) {
  const size_t middle = p.range.size() - 2 * end_bytes;
  auto rest = p.range.subspan(end_bytes + p.written, middle - p.written);
  const auto r = to.write(rest);
  p.written = middle - rest.size();
  if (r != channel::result::done) return r;
  const auto ends = read_ends(p.range);
  p.bytes.assign(ends.begin(), ends.end());
  p.range = {};
  p.written = 0;
  return r;
}

}  // namespace troupe::tls
