#include "transport/http/request_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <limits>
#include <string>

namespace troupe {

namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr uint64_t min_read_room = 4 << 10;
constexpr size_t min_chunk_bytes = 5;  // "0\r\n\r\n"; Beast asserts that at least so many bytes are left

http_error too_large(uint64_t limit) {
  return {413, fmt::format("the body is larger than {} bytes (limits.body_mb)", limit)};
}

std::string_view view(boost::beast::string_view s) { return {s.data(), s.size()}; }
std::string text(boost::beast::string_view s) { return {s.data(), s.size()}; }
/// Ignores the case of ASCII letters. Boost 1.74's iequals reads a byte behind its arguments.
bool same(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}
std::string quoted_start(std::string_view s) { return json_quote(s.substr(0, 40)); }

/// Target of a request. `host` only in the absolute form, "http://host/path", which proxies send (RFC 9112,
/// 3.2.2).
struct http_target {
  std::optional<std::string_view> host;
  std::string_view path, query;
};

http_target split_target(std::string_view s) {
  http_target t;
  for (const std::string_view scheme : {"http://", "https://"})
    if (same(s.substr(0, scheme.size()), scheme)) {
      s.remove_prefix(scheme.size());
      t.host = s.substr(0, s.find_first_of("/?"));
      s.remove_prefix(t.host->size());
      break;
    }
  const auto mark = std::min(s.find('?'), s.size());
  t.path = mark == 0 && t.host ? "/" : s.substr(0, mark);
  if (mark < s.size()) t.query = s.substr(mark + 1);
  return t;
}

/// Checks the characters of a host with port (RFC 3986, 3.2.2). No "@": RFC 9110, 4.2.4.
bool is_host(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) {
    const char lower = static_cast<char>(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~%!$&'()*+,;=:[]").find(c) != std::string_view::npos;
  });
}

/// Checks Host (RFC 9112, 3.2).
template <class Message>
std::optional<http_error> host_error(const Message& message, const http_target& target) {
  const auto given = message.count(http::field::host);
  if (given == 0 && message.version() > 10)
    return http_error{400, "the Host header is missing; send \"Host:\" with the name of this server"};
  if (given > 1) return http_error{400, fmt::format("the Host header occurs {} times; send one", given)};
  const auto host = view(message[http::field::host]);
  if (!is_host(host))
    return http_error{
        400, fmt::format("the Host header is {}; it must be a host, or host:port", quoted_start(host))};
  if (target.host && (target.host->empty() || !is_host(*target.host)))
    return http_error{400, fmt::format("the target has the host {}; it must be a path, or http://host/path",
                                       quoted_start(*target.host))};
  return {};
}

/// Checks Transfer-Encoding (RFC 9112, 6.1 and 6.3). Beast treats a request with an unknown coding as one
/// without a body, and its body as the next request.
template <class Message>
std::optional<http_error> transfer_coding_error(const Message& message) {
  constexpr auto field = http::field::transfer_encoding;
  if (message.count(field) == 0) return {};
  std::string codings;  // several fields are one list
  for (const auto& f : message)
    if (f.name() == field) codings += text(f.value()) + ", ";
  codings.resize(codings.size() - 2);
  if (message.version() == 10)
    return http_error{400, "HTTP/1.0 has no Transfer-Encoding; send Content-Length, or HTTP/1.1"};
  if (message.count(http::field::content_length) > 0)
    return http_error{400, "both Transfer-Encoding and Content-Length are given; send one of them"};
  if (same(codings, "chunked")) return {};
  auto last = std::string_view(codings).substr(codings.rfind(',') + 1);  // npos + 1 is 0
  last.remove_prefix(std::min(last.find_first_not_of(" \t"), last.size()));
  if (!same(last, "chunked"))
    return http_error{400, fmt::format("Transfer-Encoding is {}, which does not end with chunked, so the end "
                                       "of the body is unknown; send chunked, or Content-Length",
                                       quoted_start(codings))};
  return http_error{501, fmt::format("Transfer-Encoding is {}, but only chunked is implemented; send that "
                                     "alone, with Content-Encoding if the body is compressed",
                                     quoted_start(codings))};
}

/// A body that takes no more memory than it has received (a Content-Length may promise anything), and asks
/// before it grows.
struct budgeted_body {
  struct value_type {
    std::string bytes;
    uint64_t at_most = 0;  // upper bound of its size: the limit, or Content-Length
    std::optional<body_share> share;

    bool append(const char* data, size_t size) {
      const uint64_t needed = bytes.size() + size;
      if (needed > bytes.capacity()) {
        auto room = std::max({needed, 2 * uint64_t{bytes.capacity()}, min_read_room});
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

/// The path in a request line at the beginning of these bytes; empty if there is none.
std::string path_in(std::string_view bytes) {
  const auto line = bytes.substr(0, bytes.find_first_of("\r\n"));
  const auto begin = line.find(' ');
  if (begin == std::string_view::npos) return {};
  const auto end = line.find(' ', begin + 1);
  if (end == std::string_view::npos) return {};
  return std::string(split_target(line.substr(begin + 1, end - begin - 1)).path);
}

}  // namespace

class http_request_reader::parser : public http::request_parser<budgeted_body> {};

http_request_reader::http_request_reader(http_reader_limits limits, body_budget& budget)
    : limits_(limits), budget_(budget) {}

http_request_reader::~http_request_reader() = default;

size_t http_request_reader::put(std::string_view bytes) {
  if (stage_ == stage::complete || stage_ == stage::refused || bytes.empty()) return 0;
  if (!parser_) {
    // Empty lines before a request line are ignored (RFC 9112, 2.2).
    const auto begin = std::min(bytes.find_first_not_of("\r\n"), bytes.size());
    if (begin > 0) return begin;
    parser_ = std::make_unique<parser>();
    parser_->header_limit(limits_.header_bytes);
    parser_->body_limit(std::numeric_limits<uint64_t>::max());  // read_header checks the body
    parser_->get().body().at_most = limits_.body_bytes;
    parser_->get().body().share.emplace(budget_);
  }
  if (stage_ == stage::body && parser_->chunked() && bytes.size() < min_chunk_bytes) return 0;
  error_code ec;
  const size_t used = parser_->put(boost::asio::buffer(bytes.data(), bytes.size()), ec);
  if (used == 0 && bytes.size() > limits_.header_bytes && ec == http::error::need_more)
    ec = http::error::header_limit;  // the header of a chunk, not bounded by the parser
  if (!ec || ec == http::error::need_more) {
    look();
    return used;
  }
  if (stage_ == stage::header) received_.request.path = path_in(bytes);
  if (ec == http::error::body_limit)
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
  const auto target = split_target(view(message.target()));
  auto error = host_error(message, target);
  if (const auto keys = message.count(http::field::authorization); !error && keys > 1)
    error = http_error{400, fmt::format("the Authorization header occurs {} times; send one", keys)};
  if (!error) error = transfer_coding_error(message);
  auto& request = received_.request;
  request.path = target.path;
  if (error) return refuse(std::move(*error));
  received_.keep_alive = message.keep_alive();
  received_.http_1_0 = message.version() == 10;
  received_.head = message.method() == http::verb::head;
  request.method = text(message.method_string());
  request.query = target.query;
  for (const auto& field : message) {
    const bool replaced = target.host && field.name() == http::field::host;
    request.headers.add(text(field.name_string()),
                        replaced ? std::string(*target.host) : text(field.value()));
    if (field.name() == http::field::accept_encoding)
      received_.answer_coding = preferred_coding({field.value().data(), field.value().size()});
  }
  if (parser_->is_done()) return;
  if (request.method == "GET" || received_.head) return refuse({400, request.method + " takes no body"});
  if (parser_->content_length().value_or(0) > limits_.body_bytes)
    return refuse(too_large(limits_.body_bytes));
  parser_->body_limit(limits_.body_bytes);
  parser_->eager(true);
  continue_ = same(view(message[http::field::expect]), "100-continue");
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

void http_request_reader::refuse(http_error why) {
  stage_ = stage::refused;
  refusal_ = std::move(why);
  parser_.reset();  // and its memory
}

}  // namespace troupe
