// The files beside an ONNX file in which it keeps values of tensors ("external data").
#pragma once
#include <filesystem>
#include <set>
#include <string>

namespace troupe {

/// The places that the tensors of the file name, relative to its folder: of initializers, attributes and
/// graphs in attributes. Places outside of the folder are left out, as engines read none. Walks over the
/// protobuf fields without reading weights; of a damaged file it returns the places before the damage.
std::set<std::string> external_data_of(const std::filesystem::path& onnx_file);

/// The fingerprint of each of these files, or the reason why it cannot be read, by place. Empty: there are
/// none.
std::string external_fingerprints(const std::filesystem::path& onnx_file);

}  // namespace troupe
