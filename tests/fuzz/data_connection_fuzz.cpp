// For any bytes, a connection of the TLS fabric delivers whole frames and pulls of what it was sent, or ends;
// an address is refused, or encodes to the same bytes again. The first byte chooses: an even one sends the
// rest over a connection, in pieces of the size that the next byte says, and an odd one reads it as an
// address, with a seal that fits if the next byte is odd.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "transport/fabric/sealed_address.hpp"
#include "transport/fabric/tls/address.hpp"
#include "transport/fabric/tls/intake.hpp"

namespace {

using namespace troupe;

constexpr size_t most_frame_bytes = 4096;

void must(bool condition) {
  if (!condition) std::abort();
}

/// Counts the bytes that its events stand for.
class counting final : public tls::intake_events {
 public:
  bool on_hello(const tls::hello& h) override {
    must(!greeted_ && h.magic == tls::hello::expected_magic);
    greeted_ = true;
    bytes_ += sizeof h;
    return h.node < 65536;
  }
  void on_frame(std::span<const std::byte> frame) override {
    must(greeted_ && frame.size() <= most_frame_bytes);
    must(reinterpret_cast<uintptr_t>(frame.data()) % 8 == 0);
    bytes_ += sizeof(tls::head) + frame.size();
  }
  void on_pull(pull_request request) override {
    must(greeted_ && request.early <= max_early_ranges && request.early < request.ranges.size());
    bytes_ += sizeof(tls::head) + pull_request_head_bytes + request.ranges.size() * sizeof(pull_range);
  }
  size_t bytes() const { return bytes_; }

 private:
  bool greeted_ = false;
  size_t bytes_ = 0;
};

void connect(std::span<const uint8_t> sent, size_t piece) {
  counting events;
  tls::intake intake(events, most_frame_bytes);
  size_t taken = 0;
  while (!sent.empty()) {
    auto& rest = intake.rest();
    must(rest.size() <= std::max(most_frame_bytes, max_pull_request_bytes));
    const size_t n = std::min({rest.size(), sent.size(), piece});
    if (n > 0) std::memcpy(rest.data(), sent.data(), n);
    rest = rest.subspan(n);
    sent = sent.subspan(n);
    taken += n;
    if (rest.empty() && !intake.take()) break;
  }
  must(events.bytes() <= taken);
}

void read_address(std::string_view bytes, bool sealed) {
  const std::string address = sealed ? seal_address(tls_address_mark, bytes) : std::string(bytes);
  tls_address read;
  if (decode(address, read).empty()) {
    tls_address again;
    must(decode(encode(read), again).empty() && again.host == read.host && again.secret == read.secret);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::span<const uint8_t> rest(data + 2, size - 2);
  if (data[0] % 2 == 0)
    connect(rest, 1 + data[1]);
  else
    read_address({reinterpret_cast<const char*>(rest.data()), rest.size()}, data[1] % 2 != 0);
  return 0;
}
