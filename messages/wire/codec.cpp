#include "messages/wire/codec.hpp"

#include <capnp/serialize.h>

#include <array>
#include <cassert>

namespace troupe::detail {
namespace {

thread_local bool scratch_in_use = false;

/// Saves an allocation for messages of up to 16 KiB. Cap'n Proto expects zeros, and leaves zeros.
kj::ArrayPtr<capnp::word> scratch() {
  thread_local std::array<capnp::word, 2048> words{};
  assert(!scratch_in_use);
  scratch_in_use = true;
  return kj::arrayPtr(words.data(), words.size());
}

void append(kj::ArrayPtr<const capnp::word> segment, std::vector<std::byte>& out) {
  const auto bytes = segment.asBytes();
  const auto* p = reinterpret_cast<const std::byte*>(bytes.begin());
  out.insert(out.end(), p, p + bytes.size());
}

}  // namespace

segment_builder::segment_builder() : message_(scratch(), capnp::AllocationStrategy::GROW_HEURISTICALLY) {}
segment_builder::~segment_builder() { scratch_in_use = false; }

capnp::AnyStruct::Builder segment_builder::root(const bound_struct& layout) {
  return message_.getRoot<capnp::AnyPointer>().initAsAnyStruct(layout.data_words, layout.pointers);
}

void segment_builder::append_to(std::vector<std::byte>& out, const char* type_name) {
  const auto segments = message_.getSegmentsForOutput();
  if (segments.size() == 1) return append(segments[0], out);
  // It did not fit the scratch memory: copy it into one segment, the only form on the wire.
  size_t words = 0;
  for (auto s : segments) words += s.size();
  capnp::MallocMessageBuilder flat(static_cast<unsigned>(words + 1));
  flat.setRoot(message_.getRoot<capnp::AnyPointer>().asReader());
  const auto whole = flat.getSegmentsForOutput();
  if (whole.size() != 1) throw codec_error(std::string(type_name) + ": does not fit one segment");
  append(whole[0], out);
}

void read_segment(std::span<const std::byte> in, const char* type_name, message_filler fill, void* message) {
  if (in.empty() || in.size() % sizeof(capnp::word) != 0 ||
      reinterpret_cast<uintptr_t>(in.data()) % sizeof(capnp::word) != 0)
    throw codec_error(std::string(type_name) + ": not a whole, aligned number of words");
  try {
    const kj::ArrayPtr<const capnp::word> segment(reinterpret_cast<const capnp::word*>(in.data()),
                                                  in.size() / sizeof(capnp::word));
    const kj::ArrayPtr<const capnp::word> segments[] = {segment};
    capnp::ReaderOptions options;
    options.traversalLimitInWords = 4 * segment.size() + 64;  // a message cannot claim more than it carries
    options.nestingLimit = 16;
    capnp::SegmentArrayMessageReader reader(kj::arrayPtr(segments, 1), options);
    fill(reader.getRoot<capnp::AnyStruct>(), message);
  } catch (const kj::Exception& e) {
    throw codec_error(std::string(type_name) + ": " + e.getDescription().cStr());
  }
}

}  // namespace troupe::detail
