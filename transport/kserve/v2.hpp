// KServe V2 (Open Inference Protocol) bodies of inference: parses requests and formats responses, as JSON and
// with the binary tensor data extension. Pure functions; the gateway does the HTTP.
//
// A request is parsed in two steps, so that its numbers are converted once and directly into the memory in
// which they travel: parse_infer returns the number of bytes, the caller allocates room, write_inputs fills
// it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/time.hpp"
#include "messages/tensor/tensor.hpp"
#include "transport/http/result.hpp"

namespace troupe {

/// A body: JSON, followed by the binary data of tensors, in the order of the JSON.
struct infer_body {
  std::string_view json;
  std::string_view binary;
};
/// `json_bytes`: the value of the header Inference-Header-Content-Length; nothing: the body is all JSON.
http_result<infer_body> split_infer_body(std::string_view body, std::optional<std::string_view> json_bytes);

/// Inputs that clients may also send as files: as BYTES, one file for each row, from which the row is
/// computed.
class file_inputs {
 public:
  virtual ~file_inputs() = default;
  virtual bool takes(size_t input) const = 0;
  /// Whether the body of a raw binary request is a file, and not rows.
  virtual bool is_file(std::string_view body) const = 0;
  /// Computes one row of an input that it takes. Returns the problem of the file, which continues a sentence
  /// about it, or nothing.
  virtual std::string write(size_t input, std::string_view file, std::span<std::byte> row) const = 0;
};

struct infer_request {
  enum class form : uint8_t {
    tensor,
    files,    ///< BYTES: one for each row
    one_file  ///< all of the text
  };
  /// The values of an input: the text of its JSON array, or their bytes in memory order. A view of the body.
  struct values {
    std::string_view text;
    bool binary = false;
    bool given = false;
    uint64_t bytes = 0;  ///< in memory; of files: of their rows
    form as = form::tensor;
  };
  /// A requested output.
  struct wanted {
    uint32_t output = 0;  ///< index into signature.outputs
    bool binary = false;
    /// Not 0: return the largest `classes` values of each row as "value:index" (classes.hpp).
    uint32_t classes = 0;
    bool operator==(const wanted&) const = default;
  };

  std::string id;  ///< empty if the client gave none
  uint32_t rows = 0;
  uint64_t input_bytes = 0;         ///< of all inputs
  std::optional<duration> timeout;  ///< min(slo_ms, timeout in µs) of "parameters"; positive
  std::vector<wanted> outputs;      ///< in this order
  std::vector<values> inputs;       ///< in the signature's order
};

/// Parses a request against the model's signature, with at most `max_rows` rows. "data" arrays of numbers are
/// only measured; everything else is checked. Unknown keys and parameters are ignored, unknown names refused.
/// FP16 and BF16 have no JSON form and are refused there. Without JSON (the raw binary request) the binary
/// data are the rows of the only input, or the file of one row. `files` may be null.
http_result<infer_request> parse_infer(infer_body body, const model_signature& signature, uint32_t max_rows,
                                       const file_inputs* files = nullptr);

/// Converts the data into `into` (request.input_bytes, any alignment), whose contents are unspecified on
/// error. JSON data is flat or nested according to its shape. Whole numbers may be written as 3, 3.0 or 3e0;
/// BOOL is true or false, BYTES a string, a file base64. Numbers out of range are refused, never clamped. The
/// body that `request` was parsed from must still exist, and `files` be the same.
std::optional<http_error> write_inputs(const infer_request& request, const model_signature& signature,
                                       std::span<std::byte> into, const file_inputs* files = nullptr);

/// Name and version of the model, in every response.
struct model_identity {
  std::string name;
  std::string version = "1";
};

/// A serialised body.
struct written_body {
  std::string body;
  std::optional<size_t> json_bytes;  ///< if binary data follow: for Inference-Header-Content-Length
};

/// The response to `request` from its output bytes: the outputs of the signature one after the other, each
/// with all its rows. JSON floats are written in the fewest digits that read back as the same value. NaN and
/// infinities have no JSON form and become a 500. `batch_rows`, unless 0, is returned as
/// parameters.batch_rows: the rows that were executed together.
http_result<written_body> format_infer(const model_identity& model, const infer_request& request,
                                       const model_signature& signature, std::span<const std::byte> outputs,
                                       uint32_t batch_rows);

/// A client's request for all outputs; `inputs` in the form of write_inputs. Written in JSON; BYTES, and
/// tensors without a JSON form, are sent as binary data, and the latter so requested.
http_result<written_body> format_infer_request(const model_signature& signature, uint32_t rows,
                                               std::span<const std::byte> inputs,
                                               std::optional<double> slo_ms = {});

/// Limits in the answer to GET /v2/models/{model} (as "parameters").
struct model_limits {
  double slo_ms = 0;      ///< 0: left out
  uint32_t max_rows = 0;  ///< of one request; 0: left out
};
std::string format_model_metadata(const model_identity& model, std::string_view platform,
                                  const model_signature& signature, const model_limits& limits = {});
/// The client's view of it, perhaps with free dimensions; an error (502: the server's fault) if it is
/// malformed.
struct model_metadata {
  model_identity model;
  model_signature signature;
  model_limits limits;
};
http_result<model_metadata> parse_model_metadata(std::string_view body);
/// GET /v2
std::string format_server_metadata(std::string_view version);

}  // namespace troupe
