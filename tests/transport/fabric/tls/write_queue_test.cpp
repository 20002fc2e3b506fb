#include "transport/fabric/tls/write_queue.hpp"

#include <doctest/doctest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/temporary_folder.hpp"
#include "transport/tls/certificates.hpp"

using namespace troupe;
using namespace troupe::tls;

namespace {

using written_bytes = std::vector<std::byte>;

/// Bytes of a channel's turn: with so many written, the next write pauses.
constexpr size_t turn = 128u << 10;

/// A channel, and a session at its other end that reads what it writes.
class written_channel : public endpoint {
 public:
  written_channel() {
    make_certificates(folder_.path, "test", {{"node", {"localhost"}}}, 30);
    const tls_context context(tls_files_in(folder_.path, "node"));
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    reading_ = ends[1];
    reader_ = std::make_unique<tls_session>(context, reading_);
    auto writer = std::make_unique<tls_session>(context, ends[0], "localhost");
    using progress = tls_session::progress;
    for (auto a = progress::want_read, b = a; a != progress::done || b != progress::done;) {
      if (a != progress::done) a = writer->handshake();
      if (b != progress::done) b = reader_->handshake();
      REQUIRE(a != progress::failed);
      REQUIRE(b != progress::failed);
    }
    to_ = std::make_unique<channel>(epoll_, ends[0], std::move(writer), this, moved_);
  }
  ~written_channel() {
    to_.reset();
    ::close(reading_);
    ::close(epoll_);
  }

  /// A turn of writes, after which the other end reads what has come.
  channel::result write(write_queue& from) {
    to_->begin_turn();
    const auto r = from.write(*to_);
    written_bytes part(turn);
    size_t n = 0;
    while (reader_->read(part.data(), part.size(), n) == tls_session::progress::done)
      come_.insert(come_.end(), part.data(), part.data() + n);
    return r;
  }
  const written_bytes& come() const { return come_; }

 private:
  bool ready() override { return false; }

  const temporary_folder folder_;
  const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  int reading_ = -1;
  uint64_t moved_ = 0;
  std::unique_ptr<tls_session> reader_;
  std::unique_ptr<channel> to_;
  written_bytes come_;
};

void append_to(written_bytes& all, const void* data, size_t size) {
  const auto* from = static_cast<const std::byte*>(data);
  all.insert(all.end(), from, from + size);
}

void append_to(written_bytes& all, const head& h) { append_to(all, &h, sizeof h); }
void append_to(written_bytes& all, const written_bytes& more) { append_to(all, more.data(), more.size()); }

}  // namespace

TEST_CASE("write queue: small messages are written together, in their order") {
  write_queue queue;
  written_bytes expected;
  const hello greeting{};
  queue.add(greeting);
  append_to(expected, &greeting, sizeof greeting);
  for (size_t size : {0u, 3u, 20'000u, 5u}) {
    const written_bytes frame(size, std::byte(size + 1));
    queue.add_frame(frame);
    append_to(expected, {message_kind::frame, static_cast<uint32_t>(size)});
    append_to(expected, frame);
  }
  queue.add_refusal();
  append_to(expected, {message_kind::refusal, 0});
  CHECK(queue.pieces() == 3);
  CHECK(queue.frames() == 4);
  CHECK(queue.frame_bytes() == 20'008);
  written_channel to;
  CHECK(to.write(queue) == channel::result::done);
  CHECK(queue.empty());
  CHECK(queue.frames() == 0);
  CHECK(queue.frame_bytes() == 0);
  CHECK(to.come() == expected);
}

TEST_CASE("write queue: an answer may follow one whose last ranges are not written yet") {
  const written_bytes first(turn - sizeof(head), std::byte{1}), second(1000, std::byte{2});
  const written_bytes first_word(8, std::byte{3}), second_word(8, std::byte{4});
  write_queue queue;
  queue.add_answer({first, first_word}, 1);
  written_channel to;
  REQUIRE(to.write(queue) == channel::result::pause);  // between the early range and the last one
  queue.add_answer({second, second_word}, 1);
  CHECK(queue.pieces() == 1);
  CHECK(to.write(queue) == channel::result::done);
  written_bytes expected;
  for (const auto& [range, word] : {std::pair{first, first_word}, {second, second_word}}) {
    append_to(expected, {message_kind::answer, 0});
    append_to(expected, range);
    append_to(expected, word);
  }
  CHECK(to.come() == expected);
}

TEST_CASE("write queue: ranges are read when they are written, and the last ones after the others") {
  written_bytes range(2 * turn, std::byte{1}), word(8, std::byte{1});
  write_queue queue;
  queue.add_answer({range, word}, 1);
  written_channel to;
  REQUIRE(to.write(queue) == channel::result::pause);
  std::memset(range.data() + turn, 2, turn);
  std::memset(word.data(), 3, word.size());
  REQUIRE(to.write(queue) == channel::result::pause);
  CHECK(to.write(queue) == channel::result::done);
  REQUIRE(to.come().size() == sizeof(head) + range.size() + word.size());
  CHECK(to.come()[sizeof(head)] == std::byte{1});
  CHECK(to.come()[sizeof(head) + range.size() - 1] == std::byte{2});
  CHECK(to.come().back() == std::byte{3});
}
