#include "transport/http/connection.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "transport/http/pending_reply.hpp"
#include "transport/http/response_text.hpp"

namespace troupe {

namespace net = boost::asio;
using boost::system::error_code;

namespace {

constexpr size_t small_read = 4 << 10;   // of the start of a request
constexpr size_t large_read = 64 << 10;  // while a body arrives; also the most that is read ahead
constexpr duration linger_timeout = 2s;

}  // namespace

http_connection::http_connection(net::ip::tcp::socket socket, http_loop& loop)
    : loop_(loop),
      socket_(std::move(socket)),
      wake_(loop.context, clock_type::time_point::max()),
      reader_({loop.shared.options.max_header_bytes, loop.shared.options.max_body_bytes},
              loop.shared.bodies) {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(net::ip::tcp::no_delay(true), ignored);
  loop_.connections.insert(this);
}

http_connection::~http_connection() {
  set_serving(false);
  loop_.connections.erase(this);
  --loop_.shared.connections;
}

net::awaitable<void> http_connection::run(std::shared_ptr<http_connection> self) {
  auto& me = *self;
  for (auto next = after::keep; next == after::keep;) {
    std::optional<http_received> got = co_await me.read_request();
    if (!got) break;
    next = co_await me.answer(*got);
    me.set_serving(false);
    if (next == after::leave) co_await me.leave();
  }
  me.close();
}

net::awaitable<void> http_connection::refuse(std::shared_ptr<http_connection> self, http_response response) {
  co_await self->answer_and_leave(std::move(response));
  self->close();
}

net::awaitable<std::optional<http_received>> http_connection::read_request() {
  using stage = http_request_reader::stage;
  const auto& options = loop_.shared.options;
  if (buffer_.capacity() > 4 * small_read && buffer_.size() == 0) buffer_ = {};  // idle ones stay small
  set_deadline(options.idle_timeout);
  for (;;) {
    while (buffer_.size() > 0) {
      if (!serving_) {
        set_serving(true);
        set_deadline(options.header_timeout);
      }
      const auto before = reader_.where();
      const size_t used = reader_.put({static_cast<const char*>(buffer_.data().data()), buffer_.size()});
      buffer_.consume(used);
      if (reader_.where() == stage::refused) {
        auto answer = refused(reader_.refusal());
        co_await answer_and_leave(std::move(answer));
        co_return std::nullopt;
      }
      if (before == stage::header && reader_.where() != before) refusal_ = admit();
      if (reader_.where() == stage::complete) co_return reader_.take();
      if (refusal_) {
        co_await answer_and_leave(std::move(*refusal_));
        co_return std::nullopt;
      }
      if (reader_.where() != before) {
        set_deadline(options.body_timeout);
        if (reader_.continue_expected()) {
          const bool written = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
          if (!written) co_return std::nullopt;
          set_deadline(options.body_timeout);
        }
      }
      if (used == 0) break;
    }
    if (!serving_ && loop_.draining) {  // a request that arrived before the drain is still served
      read_some();
      if (buffer_.size() == 0) co_return std::nullopt;
      continue;
    }
    const bool more = co_await receive(serving_);
    if (more) continue;
    if (expired_ && serving_ && !closed_) {
      auto answer = refused(late());
      co_await answer_and_leave(std::move(answer));
    }
    co_return std::nullopt;
  }
}

/// The error of a request that was not complete in time.
http_error http_connection::late() const {
  if (reader_.where() == http_request_reader::stage::body)
    return {408, "the body did not arrive in time (limits.http_body_timeout_ms)"};
  return {408, "the header did not arrive in time (limits.http_header_timeout_ms)"};
}

/// The answer to a request that the reader refused, in the form of the API that it is for.
http_response http_connection::refused(const http_error& why) {
  try {
    return loop_.shared.handler.refused(reader_.head().path, why);
  } catch (...) {
    return http_error_response(500, "the server could not write the refusal");
  }
}

std::optional<http_response> http_connection::admit() {
  try {
    return loop_.shared.handler.admit(reader_.head());
  } catch (...) {
    return http_error_response(500, "the server could not check the request");
  }
}

net::awaitable<http_connection::after> http_connection::answer(http_received& got) {
  if (refusal_) co_return co_await write_response(*std::exchange(refusal_, {}), got);
  const auto form = got.head       ? http_body_form::none
                    : got.http_1_0 ? http_body_form::until_close
                                   : http_body_form::chunked;
  const auto pending = std::make_shared<pending_reply>(*this, loop_.shared.unsent, form);
  struct finished {
    pending_reply& reply;
    ~finished() { reply.finish(); }
  } const in_the_end{*pending};
  try {
    loop_.shared.handler.handle(std::move(got.request), http_reply(pending));
  } catch (...) {  // unwinding destroyed the reply, which answered 500
  }
  got.share.reset();  // a handler that keeps the body accounts for it itself
  co_await wait_for(*pending);
  if (auto head = pending->take_head()) co_return co_await write_stream(std::move(*head), *pending, got);
  watching_ = false;
  auto response = pending->finish();
  if (!response) co_return after::close;
  co_return co_await write_response(std::move(*response), got);
}

/// Waits until the handler has acted, or the client has left.
net::awaitable<void> http_connection::wait_for(pending_reply& pending) {
  while (!over() && pending.sleep_if_idle()) {
    // The handler limits the time of an answer. A client that has closed its sending side may wait for it, or
    // be gone: a write tells, and without one it gets a short time.
    deadline_ = eof_ ? heard_at_ + loop_.shared.options.half_close_timeout : clock_type::time_point::max();
    watching_ = true;
    listen();
    co_await sleep();
  }
}

net::awaitable<http_connection::after> http_connection::write_response(http_response response,
                                                                       const http_received& to) {
  const bool keep = to.keep_alive && !loop_.draining;
  const bool written = co_await write(http_response_text(std::move(response), to, keep));
  co_return written ? keep ? after::keep : after::leave : after::close;
}

net::awaitable<http_connection::after> http_connection::write_stream(http_response head,
                                                                     pending_reply& pending,
                                                                     const http_received& to) {
  const bool keep = to.keep_alive && !loop_.draining && !to.http_1_0;
  watching_ = true;  // from the start: also while a write waits
  listen();
  auto part = pending.take_part();
  std::string bytes = http_stream_head_text(head, to, keep) + part.bytes;
  for (;;) {
    const bool written = co_await write(std::move(bytes));
    if (!written) co_return after::close;
    if (to.head) part.over = part.whole = true;  // complete: a writer that still writes is stopped
    if (part.over) break;
    co_await wait_for(pending);
    if (over()) co_return after::close;
    part = pending.take_part();
    bytes = std::move(part.bytes);
  }
  watching_ = false;
  if (!part.whole && to.http_1_0) reset();
  co_return part.whole&& keep ? after::keep : after::leave;
}

net::awaitable<bool> http_connection::write(std::string bytes) {
  error_code ec;
  const size_t sent = socket_.write_some(net::buffer(bytes), ec);  // most responses fit the socket's buffer
  if (sent == bytes.size()) {
    heard_at_ = clock_type::now();
    co_return true;
  }
  if (ec && ec != net::error::would_block) co_return false;
  body_share waiting(loop_.shared.unsent);
  if (!waiting.grow(bytes.size() - sent) && !waiting.grow_alone(bytes.size() - sent)) co_return false;
  set_deadline(loop_.shared.options.write_timeout);
  writing_ = true;
  co_await net::async_write(socket_, net::buffer(bytes.data() + sent, bytes.size() - sent),
                            net::redirect_error(net::use_awaitable, ec));
  writing_ = false;
  deadline_ = clock_type::time_point::max();
  if (ec || over()) co_return false;
  heard_at_ = clock_type::now();
  co_return true;
}

net::awaitable<void> http_connection::answer_and_leave(http_response response) {
  set_serving(true);
  expired_ = false;
  const http_received nothing;
  const auto next = co_await write_response(std::move(response), nothing);
  set_serving(false);
  if (next == after::leave) co_await leave();
}

// Closing a socket with unread bytes resets it, and the reset can overtake the answer. So shut down the
// sending side, and read until the client has closed.
net::awaitable<void> http_connection::leave() {
  error_code ignored;
  socket_.shutdown(net::ip::tcp::socket::shutdown_send, ignored);
  set_deadline(linger_timeout);
  leaving_ = true;
  for (bool more = true; more;) {
    buffer_.clear();
    more = co_await receive(false);
  }
}

/// Waits until more bytes are in the buffer; false if none will come. `likely`: they may be here already.
net::awaitable<bool> http_connection::receive(bool likely) {
  const size_t before = buffer_.size();
  if (likely && !listening_) read_some();
  while (buffer_.size() == before && !over() && !eof_) {
    if (loop_.draining && !serving_ && before == 0 && !leaving_) break;
    listen();
    co_await sleep();
  }
  co_return buffer_.size() > before && !expired_ && !closed_;
}

net::awaitable<void> http_connection::sleep() {
  error_code ignored;
  co_await wake_.async_wait(net::redirect_error(net::use_awaitable, ignored));
}

void http_connection::listen() {
  if (listening_ || over() || eof_) return;
  listening_ = true;
  socket_.async_wait(net::ip::tcp::socket::wait_read, [self = shared_from_this()](error_code ec) {
    self->listening_ = false;
    if (ec)
      self->ended_ = true;
    else
      self->read_some();
    if (self->watching_ && self->buffer_.size() < large_read) self->listen();
    if (self->ended_ && self->watching_) self->stop_writing();
    self->wake();
  });
}

void http_connection::read_some() {
  error_code ec;
  const size_t n = socket_.read_some(buffer_.prepare(serving_ ? large_read : small_read), ec);
  buffer_.commit(n);
  if (ec == net::error::eof) {
    eof_ = true;
    heard_at_ = clock_type::now();
  } else if (ec && ec != net::error::would_block) {
    ended_ = true;
  }
}

void http_connection::set_serving(bool serving) {
  if (serving == serving_) return;
  serving_ = serving;
  if (serving)
    ++loop_.shared.serving;
  else
    --loop_.shared.serving;
}

void http_connection::wake_from_any_thread() {
  net::post(loop_.context, [self = shared_from_this()] { self->wake(); });
}

void http_connection::close_from_any_thread() {
  net::post(loop_.context, [self = shared_from_this()] { self->close(); });
}

void http_connection::expire(clock_type::time_point now) {
  if (now < deadline_) return;
  expired_ = true;
  stop_writing();
  wake();
}

void http_connection::stop_writing() {
  error_code ignored;  // it may be closed already
  if (writing_) socket_.cancel(ignored);
}

/// An HTTP/1.0 client takes an orderly close for the end of the body; a reset tells it that the body is
/// broken.
void http_connection::reset() {
  error_code ignored;
  socket_.set_option(net::socket_base::linger(true, 0), ignored);
  close();
}

void http_connection::close() {
  error_code ignored;
  closed_ = true;
  socket_.close(ignored);
  wake();
}

}  // namespace troupe
