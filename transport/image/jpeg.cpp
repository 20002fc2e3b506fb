// JPEG, by libjpeg-turbo. Errors leave the library by longjmp: functions with setjmp have no objects with
// destructors.
#include <setjmp.h>
#include <stdio.h>

// in this order: each needs the one before it
#include <jpeglib.h>

#include <jerror.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "transport/image/formats.hpp"

namespace troupe::formats {
namespace {

constexpr int max_scans = 20;  // each may go over the whole image; usual files have up to a dozen

class jpeg_decoder {
 public:
  explicit jpeg_decoder(std::span<const std::byte> file) {
    codec_.err = jpeg_std_error(&errors_);
    codec_.client_data = this;
    errors_.error_exit = [](j_common_ptr codec) { of(codec).leave(codec); };
    errors_.emit_message = [](j_common_ptr codec, int level) {
      if (level < 0 && makes_values_up(codec->err->msg_code)) of(codec).leave(codec);
    };
    progress_.progress_monitor = [](j_common_ptr codec) { of(codec).count_scans(); };
    source_.next_input_byte = reinterpret_cast<const JOCTET*>(file.data());
    source_.bytes_in_buffer = file.size();
    source_.init_source = [](j_decompress_ptr) {};
    source_.term_source = [](j_decompress_ptr) {};
    source_.fill_input_buffer = [](j_decompress_ptr codec) -> boolean { of(codec).end_of_file(); };
    source_.skip_input_data = [](j_decompress_ptr codec, long bytes) {
      if (bytes <= 0) return;
      auto& in = *codec->src;
      const auto n = std::min<size_t>(static_cast<size_t>(bytes), in.bytes_in_buffer);
      in.next_input_byte += n;
      in.bytes_in_buffer -= n;
    };
    source_.resync_to_restart = jpeg_resync_to_restart;
  }
  ~jpeg_decoder() { jpeg_destroy_decompress(&codec_); }
  jpeg_decoder(const jpeg_decoder&) = delete;
  jpeg_decoder& operator=(const jpeg_decoder&) = delete;

  /// False: failed; see `why`.
  bool read_header() {
    if (setjmp(back_) != 0) return false;
    jpeg_create_decompress(&codec_);
    codec_.src = &source_;
    codec_.progress = &progress_;
    jpeg_read_header(&codec_, TRUE);
    return true;
  }
  bool read_pixels(uint8_t* out) {
    if (setjmp(back_) != 0) return false;
    jpeg_start_decompress(&codec_);
    const size_t stride = size_t{codec_.output_width} * static_cast<size_t>(codec_.output_components);
    while (codec_.output_scanline < codec_.output_height) {
      JSAMPROW row = out + codec_.output_scanline * stride;
      jpeg_read_scanlines(&codec_, &row, 1);
    }
    return true;
  }
  const jpeg_decompress_struct& codec() const { return codec_; }
  const char* why() const { return why_; }

 private:
  template <class Codec>
  static jpeg_decoder& of(Codec* codec) {
    return *static_cast<jpeg_decoder*>(codec->client_data);
  }
  /// Of warnings: the pixels would be a guess.
  static bool makes_values_up(int code) {
    return code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_ARITH_BAD_CODE ||
           code == JWRN_BOGUS_PROGRESSION || code == JWRN_MUST_RESYNC || code == JWRN_JPEG_EOF;
  }
  [[noreturn]] void leave(j_common_ptr codec) {
    codec->err->format_message(codec, why_);
    longjmp(back_, 1);
  }
  [[noreturn]] void end_of_file() {
    *fmt::format_to_n(why_, sizeof why_ - 1, "is cut short").out = '\0';
    longjmp(back_, 1);
  }
  void count_scans() {
    if (codec_.input_scan_number <= max_scans) return;
    *fmt::format_to_n(why_, sizeof why_ - 1, "has more than {} scans", max_scans).out = '\0';
    longjmp(back_, 1);
  }

  jpeg_decompress_struct codec_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  jpeg_source_mgr source_{};
  jmp_buf back_;
  char why_[JMSG_LENGTH_MAX] = {};
};

[[noreturn]] void refuse_jpeg(const jpeg_decoder& in) {
  const std::string why = in.why();
  throw image_error(why.starts_with("is ") || why.starts_with("has ")
                        ? fmt::format("{} (JPEG)", why)
                        : fmt::format("is no JPEG that can be decoded: {}", why));
}

/// In place. The values of CMYK files are inverted, as Adobe writes them.
void rgb_of_cmyk(image& of) {
  auto* out = of.pixels.get();
  const auto* in = out;
  const auto pixels = size_t{of.width} * of.height;
  for (size_t i = 0; i < pixels; ++i, in += 4) {
    const int white = in[3];
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - in[c]) * white + 128;  // a division by 255, rounded
      const int ink = (product + (product >> 8)) >> 8;
      *out++ = static_cast<uint8_t>(std::max(white - ink, 0));
    }
  }
  of.channels = 3;
}

}  // namespace

image decode_jpeg(std::span<const std::byte> file, uint64_t max_pixels) {
  jpeg_decoder in(file);
  if (!in.read_header()) refuse_jpeg(in);
  const auto& header = in.codec();
  check_size("JPEG", header.image_width, header.image_height, max_pixels);
  const auto colours = header.out_color_space;
  if (colours != JCS_GRAYSCALE && colours != JCS_RGB && colours != JCS_CMYK)
    throw image_error(
        fmt::format("is a JPEG with {} colour components; 1, 3 and 4 are decoded", header.num_components));
  auto out = image::of_size(header.image_width, header.image_height,
                            colours == JCS_GRAYSCALE ? 1
                            : colours == JCS_RGB     ? 3
                                                     : 4);
  if (!in.read_pixels(out.pixels.get())) refuse_jpeg(in);
  if (colours == JCS_CMYK) rgb_of_cmyk(out);
  return out;
}

}  // namespace troupe::formats
