// The KServe V2 (Open Inference Protocol) JSON bodies: requests into bytes and bytes into responses. Pure
// functions; the HTTP around them is the gateway's.
//
// A request is taken in two steps, so that its numbers are converted once and straight into the memory they
// travel in: parse_infer says how many rows there are, the caller finds room, write_inputs fills it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/tensor.hpp"
#include "transport/http_result.hpp"

namespace troupe {

struct infer_request {
  std::string id;  ///< empty if the client gave none
  uint32_t rows = 0;
  std::optional<double> slo_ms;   ///< parameters.slo_ms, positive
  std::string parameters;         ///< the whole "parameters" object as JSON text; empty if none
  std::vector<uint32_t> outputs;  ///< what to answer, in this order: indices into signature.outputs
  std::vector<std::string_view>
      data;  ///< text of each input's "data", in the signature's order: views of the body
};

/// Reads a request against what the model takes, `max_rows` rows at most. The "data" arrays are only
/// measured. Everything else is checked: unknown keys are ignored, unknown names are not. FP16 and BF16 have
/// no JSON form and are refused.
http_result<infer_request> parse_infer(std::string_view body, const model_signature& signature,
                                       uint32_t max_rows);

/// Converts the data into `into` (rows × input_row_bytes(signature) bytes, any alignment), whose contents are
/// unspecified on error. Data is flat or nested as its shape says. Whole numbers may be written as 3, 3.0 or
/// 3e0; BOOL is true or false; numbers beyond their type are refused, never clamped. The body that `request`
/// was parsed from must still be there.
std::optional<http_error> write_inputs(const infer_request& request, const model_signature& signature,
                                       std::span<std::byte> into);

/// Who answers: goes into every response.
struct model_identity {
  std::string name;
  std::string version = "1";
};

/// The response to `request` from its rows × output_row_bytes(signature) output bytes. Floats are written in
/// the fewest digits that read back as the same value. NaN and infinities have no JSON form: a model that
/// gives one gets a 500. `batch_rows`, if not 0, is told as parameters.batch_rows: how many rows were
/// executed together.
http_result<std::string> format_infer(const model_identity& model, const infer_request& request,
                                      const model_signature& signature, std::span<const std::byte> outputs,
                                      uint32_t batch_rows);

/// A request as a client writes it, for all outputs; `inputs` as write_inputs would make them.
http_result<std::string> format_infer_request(const model_signature& signature, uint32_t rows,
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
