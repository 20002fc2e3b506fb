// The files of an encoder's folder that say how it runs.
#pragma once
#include <filesystem>
#include <string_view>

namespace troupe {

/// Whether the native engine runs the safetensors of this `model_type` of config.json.
bool is_encoder_family(std::string_view model_type);

/// The ONNX file that runs the encoder of a folder: model.onnx or onnx/model.onnx, beside a tokenizer.json.
/// Empty: there is none, the folder has the safetensors of a supported encoder, which are preferred, or of a
/// supported language model, or its config.json names a model that generates texts.
std::filesystem::path encoder_onnx_file(const std::filesystem::path& folder);

/// Whether `path` is a folder with an encoder's ONNX file, or one whose config.json names a supported family.
bool is_encoder_folder(const std::filesystem::path& path);

/// Throws model_error if the folder has an ONNX file, nothing else that runs, and no tokenizer.json.
void require_tokenizer(const std::filesystem::path& folder);

}  // namespace troupe
