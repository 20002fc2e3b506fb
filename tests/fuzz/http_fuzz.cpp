// A stream of bytes gives the same requests, or the same refusal, however it is split; the memory of bodies
// stays within its budget and is returned; the end of a request is never ambiguous. The first byte of the
// input chooses the size of the pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "transport/http/request_reader.hpp"

namespace {

using namespace troupe;
using stage = http_request_reader::stage;

constexpr uint64_t budget_bytes = 1 << 16;

void require(bool ok) {
  if (!ok) std::abort();
}

struct outcome {
  std::vector<std::string> requests;
  bool refused = false;
};

/// Chunked or with a length, not both.
void require_an_end(const http_received& got) {
  const auto coding = got.request.headers.find("Transfer-Encoding");
  const auto length = got.request.headers.find("Content-Length");
  require(!coding || (coding->size() == std::string_view("chunked").size() && !length && !got.http_1_0));
  require(coding || length || got.request.body.empty());
  require(got.http_1_0 || got.request.headers.find("Host"));
}

outcome read(std::string_view bytes, size_t piece) {
  body_budget budget(budget_bytes);
  outcome out;
  {
    http_request_reader reader({.header_bytes = 1024, .body_bytes = 16 << 10}, budget);
    std::string buffer;
    for (size_t at = 0; at < bytes.size() && reader.where() != stage::refused; at += piece) {
      buffer += bytes.substr(at, piece);
      for (bool moved = true; moved && !buffer.empty() && reader.where() != stage::refused;) {
        const auto used = reader.put(buffer);
        require(used <= buffer.size());
        require(budget.in_use() <= budget_bytes);
        buffer.erase(0, used);
        moved = used > 0;
        if (reader.where() != stage::complete) continue;
        const auto got = reader.take();
        require(got.request.body.size() <= 16 << 10);
        require_an_end(got);
        auto& text = out.requests.emplace_back();
        text = got.request.method + ' ' + got.request.path + '?' + got.request.query +
               (got.keep_alive ? "+" : "-");
        for (const auto& [name, value] : got.request.headers) text += name + ':' + value + '\n';
        text += got.request.body;
        moved = true;
      }
      // The rest is the beginning of a bounded element.
      require(buffer.size() <= 1024 + piece || reader.where() == stage::refused);
    }
    out.refused = reader.where() == stage::refused;
  }
  require(budget.in_use() == 0);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const auto pieces = read(stream, 1 + bytes[0] % 64), whole = read(stream, stream.size() + 1);
  const auto& shorter = pieces.requests.size() < whole.requests.size() ? pieces : whole;
  const auto& longer = &shorter == &pieces ? whole : pieces;
  require(std::equal(shorter.requests.begin(), shorter.requests.end(), longer.requests.begin()));
  require(shorter.refused || shorter.requests.size() == longer.requests.size());
  return 0;
}
