#include "transport/http/pending_reply.hpp"

#include <utility>  // before Asio
//
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/chunk_encode.hpp>

#include "transport/http/connection.hpp"

namespace troupe {

namespace http = boost::beast::http;

namespace {

constexpr size_t max_unsent_bytes = 4 << 20;  // kept of a stream for a slow client

template <class Buffers>
void append(std::string& to, const Buffers& buffers) {
  for (const boost::asio::const_buffer b : boost::beast::buffers_range_ref(buffers))
    to.append(static_cast<const char*>(b.data()), b.size());
}

}  // namespace

template <class Keep>
void pending_reply::settle(stage from, Keep keep) {
  std::function<void()> unused;  // destroyed outside the lock, because it may hold anything
  std::lock_guard lock(mutex_);
  if (stage_ != from) return;
  stage_ = stage::settled;
  keep();
  unused.swap(cancel_);
  wake();
}

/// Called under the lock: finish() waits for it, so the connection and its loop live until this returns.
void pending_reply::wake() {
  if (std::exchange(asleep_, false) && connection_ != nullptr) connection_->wake_from_any_thread();
}

void pending_reply::respond(http_response response) {
  settle(stage::open, [&] { response_ = std::move(response); });
}

void pending_reply::respond_with(std::unique_ptr<response_writer> writer) {
  settle(stage::open, [&] { writer_ = std::move(writer); });
}

void pending_reply::begin(http_response head) {
  std::lock_guard lock(mutex_);
  if (stage_ != stage::open) return;
  stage_ = stage::streaming;
  streams_ = true;
  const auto piece = std::exchange(head.body, {});
  response_ = std::move(head);
  put(piece);
  wake();
}

void pending_reply::write(std::string piece) {
  std::lock_guard lock(mutex_);
  if (stage_ == stage::streaming) put(piece);
}

void pending_reply::end(bool whole) {
  settle(stage::streaming, [&] {
    whole_ = whole && connection_ != nullptr;
    if (whole_ && form_ == http_body_form::chunked) append(bytes_, http::make_chunk_last());
  });
}

void pending_reply::put(std::string_view piece) {
  // An empty chunk would end the body.
  if (piece.empty() || form_ == http_body_form::none || connection_ == nullptr) return;
  const size_t before = bytes_.size();
  if (form_ == http_body_form::chunked)
    append(bytes_, http::make_chunk(boost::asio::buffer(piece.data(), piece.size())));
  else
    bytes_ += piece;
  const bool first = kept_ == 0;  // sent whatever its size
  kept_ += bytes_.size() - before;
  if ((first || kept_ <= max_unsent_bytes) && make_room(bytes_.size())) return wake();
  bytes_ = {};
  share_.reset();
  std::exchange(connection_, nullptr)->close_from_any_thread();
}

bool pending_reply::make_room(size_t bytes) {
  if (!share_) share_.emplace(unsent_);
  return share_->grow(bytes) || share_->grow_alone(bytes);
}

void pending_reply::on_cancel(std::function<void()> call) {
  {
    std::lock_guard lock(mutex_);
    if (!cancelled_) {
      if (stage_ != stage::settled) cancel_ = std::move(call);
      return;
    }
  }
  call();
}

bool pending_reply::sleep_if_idle() {
  std::lock_guard lock(mutex_);
  kept_ = bytes_.size();
  asleep_ = stage_ == stage::open || (stage_ == stage::streaming && bytes_.empty() && !response_);
  return asleep_;
}

std::optional<http_response> pending_reply::take_head() {
  std::lock_guard lock(mutex_);
  return streams_ ? std::exchange(response_, {}) : std::nullopt;
}

pending_reply::part pending_reply::take_part() {
  std::lock_guard lock(mutex_);
  kept_ = bytes_.size();
  share_.reset();
  return {std::exchange(bytes_, {}), stage_ == stage::settled, whole_};
}

std::optional<http_response> pending_reply::finish() {
  std::function<void()> cancel;
  {
    std::lock_guard lock(mutex_);
    connection_ = nullptr;
    asleep_ = false;
    share_.reset();
    bytes_ = {};
    if (stage_ != stage::settled) {
      stage_ = stage::settled;
      cancelled_ = true;
      cancel.swap(cancel_);
    }
  }
  if (cancel) cancel();
  if (writer_) return written_by(*std::exchange(writer_, {}));
  return std::exchange(response_, {});
}

}  // namespace troupe
