// Intake: takes apart what the dialling side of a connection sends.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "transport/fabric/pull_request.hpp"
#include "transport/fabric/tls/wire.hpp"

namespace troupe::tls {

class intake_events {
 public:
  virtual ~intake_events() = default;
  /// The first message. False refuses the connection.
  virtual bool on_hello(const hello& h) = 0;
  /// `bytes` is 8-byte aligned and valid during the call.
  virtual void on_frame(std::span<const std::byte> bytes) = 0;
  virtual void on_pull(pull_request request) = 0;
};

/// Fill `rest()`, then call `take`, and so on.
class intake {
 public:
  intake(intake_events& events, size_t max_frame_bytes) : events_(events), max_frame_bytes_(max_frame_bytes) {
    expect(part::hello, hello_);
  }
  intake(const intake&) = delete;
  intake& operator=(const intake&) = delete;

  /// What of the current part is yet to be read.
  std::span<std::byte>& rest() { return rest_; }
  /// Takes the part, which is complete. False if the peer does not keep to the protocol: nothing more is
  /// read.
  bool take();

 private:
  enum class part { hello, head, frame, request };
  static constexpr size_t kept_bytes = 1u << 20;  ///< memory that is kept from frame to frame

  template <class T>
  void expect(part next, T& into) {
    reading_ = next;
    rest_ = std::as_writable_bytes(std::span(&into, 1));
  }
  bool take_hello();
  bool take_head();
  void expect_bytes(part next, size_t bytes);
  void take_frame();
  bool take_request();

  intake_events& events_;
  const size_t max_frame_bytes_;
  part reading_ = part::hello;
  std::span<std::byte> rest_;
  hello hello_;
  head head_;
  std::vector<std::byte> bytes_;  ///< of the frame or the request
};

}  // namespace troupe::tls
