// For any frame, the data lane delivers a message or counts it as malformed, stale or forged; a decoded
// message has the same meaning after encoding. With an even first byte, the rest is the frame. With an odd
// one, a seed makes a valid message, and the rest of the input damages it.
#include <cstdlib>
#include <cstring>
#include <random>

#include "messages/wire/codec.hpp"
#include "tests/messages/wire/random_message.hpp"
#include "transport/data_lane/data_lane.hpp"

namespace {

using namespace troupe;

void require(bool condition) {
  if (!condition) std::abort();
}

/// Sends nothing; runs posted functions at once.
class null_fabric final : public fabric {
 public:
  registered_memory allocate(memory_kind, size_t) override { return {}; }
  bool reaches(memory_kind) const override { return false; }
  void start(fabric_events&) override {}
  void stop() override {}
  std::string address() const override { return {}; }
  void connect(node_id, incarnation_id, std::string) override {}
  void disconnect(node_id) override {}
  void renew() override {}
  void send(node_id, std::vector<std::byte>) override {}
  void begin_pull(node_id, pull_plan, pull_done done) override { done(pull_status::lost); }
  void post(std::function<void()> job) override { job(); }
};

class stopped_clock final : public clock {
 public:
  time_point now() const override { return time_point{1h}; }
};

class counting_events final : public data_lane_events {
 public:
  void deliver(std::vector<inbound>& messages) override { delivered += messages.size(); }
  void on_turn_end() override {}
  void on_synchronised(node_id, incarnation_id) override { ++delivered; }
  void on_lost(node_id, incarnation_id, std::string) override {}
  size_t delivered = 0;
};

constexpr address sender{node_id{0}, incarnation_id{7}, role::model_queue, 3};
constexpr uint64_t secret = 0x5ec2e7;
constexpr address receiver{node_id{1}, incarnation_id{9}, role::gpu_worker, 4};

template <message_type T>
std::vector<std::byte> frame_of(const T& x, size_t type) {
  auto header = make_header(sender, receiver, type);
  header.from_incarnation = sender.incarnation.value;
  header.to_incarnation = receiver.incarnation.value;
  header.secret = secret;
  std::vector<std::byte> frame(sizeof header);
  std::memcpy(frame.data(), &header, sizeof header);
  encode(x, frame);
  return frame;
}

/// A lane that knows its peer and the peer's clock, so that it reads every frame.
struct lane_under_test {
  null_fabric carrier;
  stopped_clock time;
  counting_events events;
  data_lane lane{carrier, time, events, {receiver.node, receiver.incarnation, secret, 2, 100ms}};

  lane_under_test() {
    lane.connect(sender.node, sender.incarnation, secret, {});
    const auto now = time.now().time_since_epoch().count();
    constexpr size_t pong_type = 11;
    static_assert(std::is_same_v<std::variant_alternative_t<pong_type, wire_message>, pong>);
    lane.on_frame(frame_of(pong{now, now, now, true}, pong_type));
    require(lane.stats().received == 1 && lane.clock_error(sender.node) >= duration{0});
  }
};

/// Takes bytes from the input, zeros after its end.
struct source {
  std::span<const uint8_t> left;
  template <class T>
  T take() {
    T value{};
    const auto n = std::min(sizeof value, left.size());
    if (n > 0) std::memcpy(&value, left.data(), n);
    left = left.subspan(n);
    return value;
  }
};

std::vector<std::byte> damaged_frame(source in) {
  const auto wanted = in.take<uint8_t>() % std::variant_size_v<wire_message>;
  std::mt19937_64 random(in.take<uint16_t>());
  std::vector<std::byte> frame;
  size_t type = 0;
  for_each_type(wire_message_list{}, [&]<class T>() {
    if (type++ != wanted) return;
    T x{};
    randomise(x, random);
    frame = frame_of(x, wanted);
    require(decode<T>(std::span(frame).subspan(sizeof(frame_header))) == x);
  });
  while (!in.left.empty()) {
    const auto at = in.take<uint16_t>() % frame.size();
    frame[at] = in.take<std::byte>();
  }
  return frame;
}

void check_meaning(std::span<const std::byte> frame) {
  const auto header = read_header(frame);
  if (!header) return;
  size_t type = 0;
  for_each_type(wire_message_list{}, [&]<class T>() {
    if (type++ != header->type) return;
    T x{};
    try {
      x = decode<T>(frame.subspan(sizeof(frame_header)));
    } catch (const codec_error&) {
      return;
    }
    std::vector<std::byte> once, twice;
    encode(x, once);
    const auto again = decode<T>(once);
    encode(again, twice);
    require(once == twice);
    require(x == again || !(x == x));  // NaN does not equal itself
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static lane_under_test test;
  const std::span<const uint8_t> rest{data + 1, size - 1};
  const auto raw = std::as_bytes(rest);  // vectors are aligned as fabrics guarantee
  const auto frame = data[0] % 2 == 0 ? std::vector(raw.begin(), raw.end()) : damaged_frame({rest});

  const auto& counts = test.lane.stats();
  const auto counted = [&] { return counts.received + counts.malformed + counts.stale + counts.forged; };
  const auto before = counted();
  test.lane.on_frame(frame);
  test.lane.on_turn_end();
  require(counted() >= before + 1);
  check_meaning(frame);
  return 0;
}
