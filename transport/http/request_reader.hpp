// Request reader: splits a client's bytes into HTTP/1.0 and 1.1 requests, with bounds on header, body and the
// memory of all bodies. It knows no sockets, so tests and fuzzers can feed it any bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "transport/http/body_budget.hpp"
#include "transport/http/coding.hpp"
#include "transport/http/message.hpp"
#include "transport/http/result.hpp"

namespace troupe {

struct http_reader_limits {
  uint32_t header_bytes = 32 << 10;
  uint64_t body_bytes = 64 << 20;  ///< of a request, inflated
};

/// A request, with the properties that its answer depends on.
struct http_received {
  http_request request;
  bool keep_alive = false;
  bool http_1_0 = false;
  bool head = false;                                  ///< no body in the answer
  http_coding answer_coding = http_coding::identity;  ///< preferred by the client
  std::optional<body_share> share;                    ///< held as long as the body is kept
};

class http_request_reader {
 public:
  /// Progress in the current request. After `refused` nothing more is read.
  enum class stage { header, body, complete, refused };

  http_request_reader(http_reader_limits limits, body_budget& budget);
  ~http_request_reader();

  /// Takes some of `bytes`, which begin where the last call stopped; returns how many. If it takes none, and
  /// the request is neither complete nor refused, call again with more bytes appended. A header is taken
  /// whole.
  size_t put(std::string_view bytes);
  stage where() const { return stage_; }
  /// The request without its body; valid in the body, and once complete. `put` never goes past the end of a
  /// header, so a caller can check the head before any byte of the body is taken.
  http_request& head() { return received_.request; }
  /// True once if the client waits for "100 Continue" before it sends the body.
  bool continue_expected();

  /// Takes the complete request; the next one may follow.
  http_received take();
  /// Why, once refused. `head().path` is empty if the request line could not be read.
  const http_error& refusal() const { return refusal_; }

 private:
  class parser;
  void look();
  void read_header();
  void inflate();
  void refuse(http_error why);

  http_reader_limits limits_;
  body_budget& budget_;
  std::unique_ptr<parser> parser_;
  stage stage_ = stage::header;
  bool continue_ = false;
  http_received received_;  // all but the body
  http_error refusal_;
};

}  // namespace troupe
