#include "transport/fabric/tls/write_queue.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/fabric/pull_request.hpp"

namespace troupe::tls {

/// The last piece if the bytes fit into it, else a new one.
write_queue::piece& write_queue::room_for(size_t bytes) {
  if (!pieces_.empty()) {
    auto& last = pieces_.back();
    if (last.ranges.empty() && last.bytes.size() + bytes <= together) return last;
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

void write_queue::add_pull(const pull_plan& plan) {
  const auto request = encode_request(plan);
  const head h{message_kind::pull, static_cast<uint32_t>(request.size())};
  auto& p = room_for(sizeof h + request.size());
  append(p, &h, sizeof h);
  append(p, request.data(), request.size());
}

void write_queue::add_answer(pull_sources ranges, size_t early) {
  const head h{message_kind::answer, 0};
  auto& p = room_for(sizeof h + max_last_bytes);
  append(p, &h, sizeof h);
  if (early > 0) {
    p.ranges = std::move(ranges);
    p.early = early;
  } else {
    const auto last = read_last(ranges, 0);
    append(p, last.data(), last.size());
  }
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
    if (!p.ranges.empty()) {
      r = write_ranges(p, to);
      if (r != channel::result::done) return r;
      continue;  // with the last ones
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
  if (r == channel::result::done && !p.ranges.empty()) {
    p.bytes.clear();
    p.written = 0;
  }
  return r;
}

/// Turns the piece into its last ranges once the early ones are written.
channel::result write_queue::write_ranges(piece& p, channel& to) {
  for (; p.next < p.early; ++p.next) {
    auto rest = p.ranges[p.next].subspan(p.written);
    const auto r = to.write(rest);
    p.written = p.ranges[p.next].size() - rest.size();
    if (r != channel::result::done) return r;
    p.written = 0;
  }
  p.bytes = read_last(p.ranges, p.early);
  p.ranges.clear();
  p.early = p.next = 0;
  return channel::result::done;
}

}  // namespace troupe::tls
