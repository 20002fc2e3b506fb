// The KServe V2 (Open Inference Protocol) bodies of inference: requests into bytes and bytes into responses,
// as JSON and with the binary tensor data extension. Pure functions; the HTTP around them is the gateway's.
//
// A request is taken in two steps, so that its numbers are converted once and straight into the memory they
// travel in: parse_infer says how many bytes there are, the caller finds room, write_inputs fills it.
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

/// A body: JSON, and behind it the binary data of tensors, in the order in which the JSON names them.
struct infer_body {
  std::string_view json;
  std::string_view binary;
};
/// `json_bytes`: the value of the header Inference-Header-Content-Length; nothing: the body is all JSON.
http_result<infer_body> split_infer_body(std::string_view body, std::optional<std::string_view> json_bytes);

struct infer_request {
  /// The values of an input: the text of its JSON array, or as they lie in memory. A view of the body.
  struct values {
    std::string_view text;
    bool binary = false;
    bool given = false;
    uint64_t bytes = 0;  ///< in memory
  };
  /// What to answer of an output.
  struct wanted {
    uint32_t output = 0;  ///< index into signature.outputs
    bool binary = false;
    /// Not 0: so many of a row's values, the largest, as "value:index" (classes.hpp).
    uint32_t classes = 0;
    bool operator==(const wanted&) const = default;
  };

  std::string id;  ///< empty if the client gave none
  uint32_t rows = 0;
  uint64_t input_bytes = 0;  ///< of all inputs
  std::optional<duration>
      timeout;                  ///< the lesser of parameters.slo_ms and parameters.timeout (in µs); positive
  std::vector<wanted> outputs;  ///< in this order
  std::vector<values> inputs;   ///< in the signature's order
};

/// Reads a request against what the model takes, `max_rows` rows at most. "data" arrays of numbers are only
/// measured. Everything else is checked: unknown keys and parameters are ignored, unknown names are not. FP16
/// and BF16 have no JSON form and are refused there. Without JSON (the raw binary request) the binary data
/// are the rows of the only input.
http_result<infer_request> parse_infer(infer_body body, const model_signature& signature, uint32_t max_rows);

/// Converts the data into `into` (request.input_bytes, any alignment), whose contents are unspecified on
/// error. JSON data is flat or nested as its shape says. Whole numbers may be written as 3, 3.0 or 3e0; BOOL
/// is true or false, BYTES a string; numbers beyond their type are refused, never clamped. The body that
/// `request` was parsed from must still be there.
std::optional<http_error> write_inputs(const infer_request& request, const model_signature& signature,
                                       std::span<std::byte> into);

/// Who answers: goes into every response.
struct model_identity {
  std::string name;
  std::string version = "1";
};

/// A body as it is written.
struct written_body {
  std::string body;
  std::optional<size_t> json_bytes;  ///< if binary data follow: for Inference-Header-Content-Length
};

/// The response to `request` from its output bytes: the outputs of the signature one after the other, each
/// with all its rows. JSON floats are written in the fewest digits that read back as the same value. NaN and
/// infinities have no JSON form: a model that gives one gets a 500. `batch_rows`, if not 0, is told as
/// parameters.batch_rows: how many rows were executed together.
http_result<written_body> format_infer(const model_identity& model, const infer_request& request,
                                       const model_signature& signature, std::span<const std::byte> outputs,
                                       uint32_t batch_rows);

/// A request as a client writes it, for all outputs; `inputs` as write_inputs would make them. In JSON, but
/// what has no JSON form goes, and is asked for, as binary data.
http_result<written_body> format_infer_request(const model_signature& signature, uint32_t rows,
                                               std::span<const std::byte> inputs,
                                               std::optional<double> slo_ms = {});

/// What GET /v2/models/{model} tells besides names and shapes (as "parameters").
struct model_limits {
  double slo_ms = 0;      ///< 0: left out
  uint32_t max_rows = 0;  ///< of one request; 0: left out
};
std::string format_model_metadata(const model_identity& model, std::string_view platform,
                                  const model_signature& signature, const model_limits& limits = {});
/// What a client learns from it; an error (502: the server's fault) if it is no such metadata.
struct model_metadata {
  model_identity model;
  model_signature signature;
  model_limits limits;
};
http_result<model_metadata> parse_model_metadata(std::string_view body);
/// GET /v2
std::string format_server_metadata(std::string_view version);

}  // namespace troupe
