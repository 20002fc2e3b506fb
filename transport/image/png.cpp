// PNG, by libpng. Errors leave the library by longjmp: functions with setjmp have no objects with
// destructors.
#include <fmt/format.h>
#include <png.h>
#include <setjmp.h>

#include <cstring>
#include <string_view>

#include "transport/image/decode.hpp"
#include "transport/image/formats.hpp"

namespace troupe::formats {
namespace {

class png_decoder {
 public:
  explicit png_decoder(std::span<const std::byte> file) : left_(file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~png_decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  png_decoder(const png_decoder&) = delete;
  png_decoder& operator=(const png_decoder&) = delete;

  /// False: failed; see `why`.
  bool read_header() {
    if (info_ == nullptr) return false;
    if (setjmp(back_) != 0) return false;
    png_set_read_fn(png_, this, read);
    png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);  // the caller checks the size
    // Texts and profiles inflate to any size, and are of no use here.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, unused_chunks, unused_chunk_count);
    png_set_chunk_cache_max(png_, 1);
    png_set_chunk_malloc_max(png_, 64u << 10);
    png_read_info(png_, info_);
    return true;
  }
  /// To 8 bits of grey or red, green and blue.
  bool convert() {
    if (setjmp(back_) != 0) return false;
    png_set_strip_16(png_);
    png_set_expand_gray_1_2_4_to_8(png_);
    png_set_palette_to_rgb(png_);
    png_set_strip_alpha(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  /// `out`: height rows of `row_bytes`.
  bool read_pixels(uint8_t* out) {
    if (setjmp(back_) != 0) return false;
    const size_t stride = row_bytes();
    const uint32_t rows = height();
    for (int pass = 0; pass < passes_; ++pass)
      for (uint32_t y = 0; y < rows; ++y) png_read_row(png_, out + y * stride, nullptr);
    return true;
  }
  uint32_t width() const { return png_get_image_width(png_, info_); }
  uint32_t height() const { return png_get_image_height(png_, info_); }
  size_t row_bytes() const { return png_get_rowbytes(png_, info_); }
  uint32_t channels() const { return png_get_channels(png_, info_); }
  bool is_grey_of_16_bits() const {
    return png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(png_, info_) == 16;
  }
  std::string_view why() const { return why_; }

  static constexpr const char* cut_short = "the file is cut short";

 private:
  static constexpr int unused_chunk_count = 8;
  /// Each name ends with a zero.
  static constexpr png_byte unused_chunks[] = "tEXt\0zTXt\0iTXt\0iCCP\0sPLT\0eXIf\0hIST\0pCAL";

  [[noreturn]] static void fail(png_structp png, png_const_charp what) {
    auto& self = *static_cast<png_decoder*>(png_get_error_ptr(png));
    std::strncpy(self.why_, what, sizeof self.why_ - 1);
    longjmp(self.back_, 1);
  }
  static void read(png_structp png, png_bytep out, size_t bytes) {
    auto& left = static_cast<png_decoder*>(png_get_io_ptr(png))->left_;
    if (left.size() < bytes) png_error(png, cut_short);
    std::memcpy(out, left.data(), bytes);
    left = left.subspan(bytes);
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  std::span<const std::byte> left_;
  jmp_buf back_;
  char why_[128] = {};
};

[[noreturn]] void refuse_png(const png_decoder& in) {
  if (in.why() == png_decoder::cut_short) throw image_error("is cut short (PNG)");
  throw image_error(fmt::format("is no PNG that can be decoded: {}", in.why()));
}

}  // namespace

image decode_png(std::span<const std::byte> file, uint64_t max_pixels) {
  png_decoder in(file);
  if (!in.read_header()) refuse_png(in);
  check_size("PNG", in.width(), in.height(), max_pixels);
  if (in.is_grey_of_16_bits())
    throw image_error("is a PNG of 16-bit greyscale; convert it to 8 bits, which this model takes");
  if (!in.convert()) refuse_png(in);
  auto out = image::of_size(in.width(), in.height(), in.channels());
  if (in.row_bytes() != out.row_bytes()) throw image_error("is a PNG of an unknown pixel format");
  if (!in.read_pixels(out.pixels.get())) refuse_png(in);
  return out;
}

}  // namespace troupe::formats
