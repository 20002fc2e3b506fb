// Cuts the bytes that a client sends into requests: HTTP/1.0 and 1.1, bounded in header, body and the memory
// of all bodies. Knows no sockets, so that it can be fed anything.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "transport/http/body_budget.hpp"
#include "transport/http/coding.hpp"
#include "transport/http/message.hpp"

namespace troupe {

struct http_reader_limits {
  uint32_t header_bytes = 32 << 10;
  uint64_t body_bytes = 64 << 20;  ///< of a request, inflated
};

/// A request, and what its answer must heed.
struct http_received {
  http_request request;
  bool keep_alive = false;
  bool http_1_0 = false;
  bool head = false;                                  ///< no body in the answer
  http_coding answer_coding = http_coding::identity;  ///< what the client likes best
  std::optional<body_share> share;                    ///< for as long as the body is kept
};

class http_request_reader {
 public:
  /// Where it is in a request. After `refused` nothing more is read.
  enum class stage { header, body, complete, refused };

  http_request_reader(http_reader_limits limits, body_budget& budget);
  ~http_request_reader();

  /// Takes some of `bytes`, which begin where the last call stopped; returns how many. If that is none, and
  /// the request neither complete nor refused, more bytes must be added behind these. A header is taken
  /// whole.
  size_t put(std::string_view bytes);
  stage where() const { return stage_; }
  /// What the header says; while in the body, and once complete. `put` never goes past the end of a header,
  /// so that who asks here first has not taken a byte of the body.
  http_request& head() { return received_.request; }
  /// Said once: the client wants to hear "100 Continue" before it sends the body.
  bool continue_expected();

  /// The complete request; the next one may come.
  http_received take();
  /// What to answer before closing, once refused.
  http_response refusal() const { return refusal_; }

 private:
  class parser;
  void look();
  void read_header();
  void inflate();
  void refuse(const http_error& why);

  http_reader_limits limits_;
  body_budget& budget_;
  std::unique_ptr<parser> parser_;
  stage stage_ = stage::header;
  bool continue_ = false;
  http_received received_;  // all but the body
  http_response refusal_;
};

}  // namespace troupe
