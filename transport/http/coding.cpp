#include "transport/http/coding.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <new>

namespace troupe {
namespace {

constexpr int fast = 1;        // zlib's level
constexpr int window = 15;     // zlib's largest, which every client may use
constexpr int with_gzip = 16;  // added to the window: gzip's header instead of zlib's
constexpr uint64_t first_room = 16 << 10;
constexpr uint64_t min_inflate_step = 4 << 10;

int window_of(http_coding coding) { return coding == http_coding::gzip ? window + with_gzip : window; }

struct inflating : z_stream {
  explicit inflating(http_coding coding) : z_stream{} {
    if (inflateInit2(this, window_of(coding)) != Z_OK) throw std::bad_alloc();
  }
  ~inflating() { inflateEnd(this); }
};

struct deflating : z_stream {
  explicit deflating(http_coding coding) : z_stream{} {
    constexpr int memory = 8;  // zlib's default
    if (deflateInit2(this, fast, Z_DEFLATED, window_of(coding), memory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~deflating() { deflateEnd(this); }
};

// zlib reads through a pointer that is not const, and writes nothing there.
Bytef* input_of(std::string_view bytes) { return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())); }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

std::string lower(std::string_view s) {
  std::string out(s);
  for (auto& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

/// "gzip;q=0.5" as its name and its weight.
std::pair<std::string, double> weighted(std::string_view item) {
  const auto mark = item.find(';');
  double weight = 1;
  if (mark != std::string_view::npos) {
    const auto q = lower(trimmed(item.substr(mark + 1)));
    if (q.starts_with("q=")) std::from_chars(q.data() + 2, q.data() + q.size(), weight);
  }
  return {lower(trimmed(item.substr(0, mark))), weight};
}

}  // namespace

std::string_view to_string(http_coding coding) {
  return coding == http_coding::gzip ? "gzip" : coding == http_coding::deflate ? "deflate" : "identity";
}

http_result<http_coding> parse_http_coding(std::string_view content_encoding) {
  const auto name = lower(trimmed(content_encoding));
  if (name.empty() || name == "identity") return http_coding::identity;
  if (name == "gzip" || name == "x-gzip") return http_coding::gzip;
  if (name == "deflate") return http_coding::deflate;
  return http_error{415, fmt::format("Content-Encoding: {} is not supported; send gzip, deflate or identity",
                                     content_encoding.substr(0, 40))};
}

http_coding preferred_coding(std::string_view accept_encoding) {
  auto best = http_coding::identity;
  double best_weight = 0;
  while (!accept_encoding.empty()) {
    const auto comma = std::min(accept_encoding.find(','), accept_encoding.size());
    const auto [name, weight] = weighted(accept_encoding.substr(0, comma));
    accept_encoding.remove_prefix(std::min(comma + 1, accept_encoding.size()));
    const auto coding = name == "gzip" || name == "x-gzip" || name == "*" ? http_coding::gzip
                        : name == "deflate"                               ? http_coding::deflate
                                                                          : http_coding::identity;
    const bool first = coding == http_coding::gzip && best != http_coding::gzip;
    if (coding == http_coding::identity || weight < best_weight || weight <= 0) continue;
    if (weight > best_weight || first) best = coding, best_weight = weight;
  }
  return best;
}

http_result<std::string> inflated(std::string_view bytes, http_coding coding, uint64_t max_bytes,
                                  const std::function<bool(uint64_t)>& may_take) {
  inflating stream(coding);
  stream.next_in = input_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  for (;;) {
    // One byte more than allowed shows that there is more.
    const uint64_t before = out.size();
    auto room = std::min(std::max(first_room, 2 * before), max_bytes + 1);
    if (room == before)
      return http_error{413,
                        fmt::format("the body inflates to more than {} bytes (limits.body_mb)", max_bytes)};
    while (!may_take(std::min(room, max_bytes))) {
      const auto step = (room - before) / 2;
      if (step < min_inflate_step) return http_error{503, "too many bodies are being read; try again later"};
      room = before + step;
    }
    out.resize(room);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = static_cast<uInt>(room - before);
    const int status = inflate(&stream, Z_NO_FLUSH);
    out.resize(room - stream.avail_out);
    if (status == Z_STREAM_END) break;
    if (status != Z_OK || (stream.avail_in == 0 && stream.avail_out > 0))
      return http_error{400, fmt::format("the body is not {}: {}", to_string(coding),
                                         stream.msg != nullptr ? stream.msg : "it ends too early")};
  }
  if (out.size() > max_bytes)
    return http_error{413,
                      fmt::format("the body inflates to more than {} bytes (limits.body_mb)", max_bytes)};
  if (stream.avail_in > 0)
    return http_error{400, fmt::format("the body is not {}: bytes follow its end", to_string(coding))};
  return out;
}

std::string deflated(std::string_view bytes, http_coding coding) {
  deflating stream(coding);
  stream.next_in = input_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::bad_alloc();  // deflateBound is an upper bound
  out.resize(out.size() - stream.avail_out);
  return out;
}

}  // namespace troupe
