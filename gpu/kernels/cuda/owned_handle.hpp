// RAII handles of NVIDIA's libraries.
#pragma once
#include <memory>
#include <type_traits>

namespace troupe::cuda {

template <auto Destroy>
struct destroyer {
  template <class T>
  void operator()(T* p) const {
    Destroy(p);
  }
};
template <class Handle, auto Destroy>
using owned = std::unique_ptr<std::remove_pointer_t<Handle>, destroyer<Destroy>>;

}  // namespace troupe::cuda
