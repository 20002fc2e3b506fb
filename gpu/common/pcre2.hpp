// RAII handles for PCRE2 objects, and PCRE2's error messages. For source files only: it includes PCRE2's
// names.
#pragma once
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <memory>
#include <new>
#include <string>
#include <string_view>

namespace troupe::pcre {

struct release {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
  void operator()(pcre2_compile_context* p) const { pcre2_compile_context_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
};

template <class T>
using owned = std::unique_ptr<T, release>;

template <class T>
owned<T> own(T* p) {
  if (p == nullptr) throw std::bad_alloc();
  return owned<T>(p);
}

inline std::string message(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

inline PCRE2_SPTR bytes(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace troupe::pcre
