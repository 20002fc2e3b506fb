#include "transport/fabric/tls/intake.hpp"

namespace troupe::tls {

bool intake::take() {
  switch (reading_) {
    case part::hello: return take_hello();
    case part::head: return take_head();
    case part::frame: take_frame(); break;
    case part::range: events_.on_pull(range_); break;
  }
  expect(part::head, head_);
  return true;
}

bool intake::take_hello() {
  if (hello_.magic != hello::expected_magic || !events_.on_hello(hello_)) return false;
  expect(part::head, head_);
  return true;
}

bool intake::take_head() {
  switch (head_.kind) {
    case message_kind::frame:
      if (head_.bytes > max_frame_bytes_) return false;
      frame_.resize(head_.bytes);
      reading_ = part::frame;
      rest_ = frame_;
      return true;
    case message_kind::pull: expect(part::range, range_); return head_.bytes == sizeof range_;
    case message_kind::answer:
    case message_kind::refusal: break;
  }
  return false;
}

void intake::take_frame() {
  events_.on_frame(frame_);
  if (frame_.capacity() > kept_bytes) frame_ = {};
}

}  // namespace troupe::tls
