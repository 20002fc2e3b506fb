#include "gpu/cuda/gemm.hpp"

#include <memory>
#include <type_traits>

namespace troupe::cuda {

namespace {

void check(cublasStatus_t code, const char* what) {
  if (code != CUBLAS_STATUS_SUCCESS) throw blas_error(code, what);
}

template <auto Destroy>
struct destroyer {
  template <class T>
  void operator()(T* p) const {
    Destroy(p);
  }
};
template <class Handle, auto Destroy>
using owned = std::unique_ptr<std::remove_pointer_t<Handle>, destroyer<Destroy>>;
using layout = owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using description = owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using preference = owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

cudaDataType_t type_of(element e) {
  switch (e) {
    case element::f16: return CUDA_R_16F;
    case element::bf16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
}

layout make_layout(cudaDataType_t type, uint64_t rows, uint64_t columns, size_t stride) {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublasLtMatrixLayoutCreate(&made, type, rows, columns, static_cast<int64_t>(stride)), "a matrix");
  return layout(made);
}

template <class T>
void set(const description& d, cublasLtMatmulDescAttributes_t what, const T& value) {
  check(cublasLtMatmulDescSetAttribute(d.get(), what, &value, sizeof value), "a product");
}

}  // namespace

struct gemm::plan {
  description product;
  layout w, x, y;
  cublasLtMatmulAlgo_t algorithm{};
};

gemm::gemm() : workspace_(workspace_bytes) { check(cublasLtCreate(&handle_), "cuBLAS"); }

gemm::~gemm() {
  plans_.clear();
  cublasLtDestroy(handle_);
}

const gemm::plan& gemm::plan_of(const gemm_args& a) {
  std::string key;
  for (const uint64_t part :
       {uint64_t{a.rows}, uint64_t{a.in}, uint64_t{a.out}, uint64_t{a.y_stride},
        static_cast<uint64_t>(a.type), uint64_t{a.float_y}, uint64_t{a.bias != nullptr}})
    key.append(reinterpret_cast<const char*>(&part), sizeof part);
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;

  plan p;
  cublasLtMatmulDesc_t product = nullptr;
  check(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), "a product");
  p.product.reset(product);
  // cuBLAS counts columns first: y^T [out, rows] = W [out, in] x^T, W as it lies is [in, out] transposed
  set(p.product, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  if (a.bias != nullptr) {
    set(p.product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(p.product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(a.type));
    set(p.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, a.bias);
  }
  p.w = make_layout(type_of(a.type), a.in, a.out, a.in);
  p.x = make_layout(type_of(a.type), a.in, a.rows, a.in);
  p.y = make_layout(a.float_y ? CUDA_R_32F : type_of(a.type), a.out, a.rows, a.y_stride);

  cublasLtMatmulPreference_t made = nullptr;
  check(cublasLtMatmulPreferenceCreate(&made), "a product");
  const preference limits(made);
  check(cublasLtMatmulPreferenceSetAttribute(limits.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace_bytes, sizeof workspace_bytes),
        "a product");
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_, p.product.get(), p.w.get(), p.x.get(), p.y.get(), p.y.get(), limits.get(), 1, &found, &count);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0)
    throw blas_error(status == CUBLAS_STATUS_SUCCESS ? CUBLAS_STATUS_NOT_SUPPORTED : status,
                     "a product of [" + std::to_string(a.rows) + ", " + std::to_string(a.in) + "] and [" +
                         std::to_string(a.out) + ", " + std::to_string(a.in) + "]");
  p.algorithm = found.algo;
  return plans_.emplace(std::move(key), std::move(p)).first->second;
}

void gemm::run(const gemm_args& a, cudaStream_t stream) {
  const plan& p = plan_of(a);
  if (a.bias != nullptr) set(p.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, a.bias);
  const float one = 1, zero = 0;
  check(cublasLtMatmul(handle_, p.product.get(), &one, a.w, p.w.get(), a.x, p.x.get(), &zero, a.y, p.y.get(),
                       a.y, p.y.get(), &p.algorithm, workspace_.data(), workspace_.size(), stream),
        "a product");
}

}  // namespace troupe::cuda
