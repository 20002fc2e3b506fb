#include "transport/fabric/tls/intake.hpp"

#include <utility>

namespace troupe::tls {

bool intake::take() {
  switch (reading_) {
    case part::hello: return take_hello();
    case part::head: return take_head();
    case part::frame: take_frame(); break;
    case part::request:
      if (!take_request()) return false;
      break;
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
      expect_bytes(part::frame, head_.bytes);
      return true;
    case message_kind::pull:
      if (head_.bytes < min_pull_request_bytes || head_.bytes > max_pull_request_bytes) return false;
      expect_bytes(part::request, head_.bytes);
      return true;
    case message_kind::answer:
    case message_kind::refusal: break;
  }
  return false;
}

void intake::expect_bytes(part next, size_t bytes) {
  bytes_.resize(bytes);
  reading_ = next;
  rest_ = bytes_;
}

void intake::take_frame() {
  events_.on_frame(bytes_);
  if (bytes_.capacity() > kept_bytes) bytes_ = {};
}

bool intake::take_request() {
  auto request = decode_request(bytes_);
  if (!request) return false;
  events_.on_pull(std::move(*request));
  return true;
}

}  // namespace troupe::tls
