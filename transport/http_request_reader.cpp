#include "transport/http_request_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <limits>
#include <string>

namespace troupe {

namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr uint64_t least_room = 4 << 10;
constexpr size_t least_chunked = 5;  // "0\r\n\r\n"; Beast asserts that it has so many to look at again

http_error too_large(uint64_t limit) {
  return {413, fmt::format("the body is larger than the limit of {} bytes", limit)};
}

std::string text(boost::beast::string_view s) { return {s.data(), s.size()}; }

/// A body that takes no more memory than it got bytes for (a Content-Length may promise anything), and asks
/// before it does.
struct budgeted_body {
  struct value_type {
    std::string bytes;
    uint64_t at_most = 0;  // it will come to: the limit, or what Content-Length says
    std::optional<body_share> share;

    bool append(const char* data, size_t size) {
      const uint64_t needed = bytes.size() + size;
      if (needed > bytes.capacity()) {
        auto room = std::max({needed, 2 * uint64_t{bytes.capacity()}, least_room});
        room = std::min(room, std::max(at_most, needed));
        if (!share->grow(room) && !share->grow(room = needed)) return false;
        bytes.reserve(room);
      }
      bytes.append(data, size);
      return true;
    }
  };

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(http::header<is_request, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<uint64_t>& length, error_code& ec) {
      if (length) body_.at_most = std::min(body_.at_most, *length);
      ec = {};
    }
    template <class Buffers>
    size_t put(const Buffers& buffers, error_code& ec) {
      size_t taken = 0;
      ec = {};
      for (auto it = boost::asio::buffer_sequence_begin(buffers);
           it != boost::asio::buffer_sequence_end(buffers); ++it) {
        const boost::asio::const_buffer part = *it;
        if (!body_.append(static_cast<const char*>(part.data()), part.size())) {
          ec = http::error::buffer_overflow;
          return taken;
        }
        taken += part.size();
      }
      return taken;
    }
    void finish(error_code& ec) { ec = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace

class http_request_reader::parser : public http::request_parser<budgeted_body> {};

http_request_reader::http_request_reader(http_reader_limits limits, body_budget& budget)
    : limits_(limits), budget_(budget) {}

http_request_reader::~http_request_reader() = default;

size_t http_request_reader::put(std::string_view bytes) {
  if (stage_ == stage::complete || stage_ == stage::refused || bytes.empty()) return 0;
  if (!parser_) {
    parser_ = std::make_unique<parser>();
    parser_->header_limit(limits_.header_bytes);
    parser_->body_limit(std::numeric_limits<uint64_t>::max());  // of the header's; see read_header
    parser_->get().body().at_most = limits_.body_bytes;
    parser_->get().body().share.emplace(budget_);
  }
  if (stage_ == stage::body && parser_->chunked() && bytes.size() < least_chunked) return 0;
  error_code ec;
  const size_t used = parser_->put(boost::asio::buffer(bytes.data(), bytes.size()), ec);
  if (used == 0 && bytes.size() > limits_.header_bytes && ec == http::error::need_more)
    ec = http::error::header_limit;  // the header of a chunk, which the parser does not bound
  if (!ec || ec == http::error::need_more)
    look();
  else if (ec == http::error::body_limit)
    refuse(too_large(limits_.body_bytes));
  else if (ec == http::error::header_limit)
    refuse({431, fmt::format("the header is larger than {} bytes", limits_.header_bytes)});
  else if (ec == http::error::buffer_overflow)
    refuse({503, "too many bodies are being read; try again later"});
  else
    refuse({400, "malformed HTTP request: " + ec.message()});
  return used;
}

void http_request_reader::look() {
  if (stage_ == stage::header && parser_->is_header_done()) read_header();
  if (stage_ != stage::body || !parser_->is_done()) return;
  stage_ = stage::complete;
  inflate();
}

void http_request_reader::read_header() {
  stage_ = stage::body;
  const auto& message = parser_->get();
  received_.keep_alive = message.keep_alive();
  received_.http_1_0 = message.version() == 10;
  received_.head = message.method() == http::verb::head;
  auto& request = received_.request;
  request.method = text(message.method_string());
  const auto target = message.target();
  const auto mark = std::min(target.find('?'), target.size());
  request.path = text(target.substr(0, mark));
  if (mark < target.size()) request.query = text(target.substr(mark + 1));
  for (const auto& field : message) {
    request.headers.add(text(field.name_string()), text(field.value()));
    if (field.name() == http::field::accept_encoding)
      received_.answer_coding = preferred_coding({field.value().data(), field.value().size()});
  }
  if (parser_->is_done()) return;
  if (request.method == "GET" || received_.head) return refuse({400, request.method + " takes no body"});
  if (parser_->content_length().value_or(0) > limits_.body_bytes)
    return refuse(too_large(limits_.body_bytes));
  parser_->body_limit(limits_.body_bytes);
  parser_->eager(true);
  continue_ = boost::beast::iequals(message[http::field::expect], "100-continue");
}

void http_request_reader::inflate() {
  auto& message = parser_->get();
  const auto found = message.find(http::field::content_encoding);
  if (found == message.end()) return;
  const auto coding = parse_http_coding(text(found->value()));
  if (!coding) return refuse(coding.error());
  if (*coding == http_coding::identity) return;
  auto& body = message.body();
  const auto compressed = body.share->bytes();
  uint64_t asked = 0;
  auto whole = inflated(body.bytes, *coding, limits_.body_bytes,
                        [&](uint64_t n) { return body.share->grow(asked = compressed + n); });
  if (!whole && whole.error().status == 503 && !body.share->fits_alone(asked))
    return refuse({413, fmt::format("the body takes more than {} bytes while it is inflated, half of what "
                                    "limits.http_bodies_mb allows; send it uncompressed or in parts",
                                    asked)});
  if (!whole) return refuse(whole.error());
  body.bytes = std::move(*whole);
}

bool http_request_reader::continue_expected() { return std::exchange(continue_, false); }

http_received http_request_reader::take() {
  auto got = std::exchange(received_, {});
  got.request.body = std::move(parser_->get().body().bytes);
  got.share = std::move(parser_->get().body().share);
  parser_.reset();
  stage_ = stage::header;
  return got;
}

void http_request_reader::refuse(const http_error& why) {
  stage_ = stage::refused;
  refusal_ = http_error_response(why.status, why.message);
  parser_.reset();  // and its memory
}

}  // namespace troupe
