#include "gpu/kernels/cuda/gemm.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "gpu/kernels/cuda/owned_handle.hpp"

namespace troupe::cuda {

namespace {

void check(cublasStatus_t code, const char* what) {
  if (code != CUBLAS_STATUS_SUCCESS) throw blas_error(code, what);
}

using layout = owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using description = owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using preference = owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

cudaDataType_t cuda_type(element e) {
  switch (e) {
    case element::f16: return CUDA_R_16F;
    case element::bf16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
}

template <class T>
void set(const layout& l, cublasLtMatrixLayoutAttribute_t what, const T& value) {
  check(cublasLtMatrixLayoutSetAttribute(l.get(), what, &value, sizeof value), "a matrix");
}

/// Layout of `batch` matrices, `step` numbers apart.
layout make_layout(cudaDataType_t type, uint64_t rows, uint64_t columns, size_t stride, uint32_t batch,
                   int64_t step) {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublasLtMatrixLayoutCreate(&made, type, rows, columns, static_cast<int64_t>(stride)), "a matrix");
  layout l(made);
  if (batch > 1) {
    set(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch));
    set(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step);
  }
  return l;
}

template <class T>
void set(const description& d, cublasLtMatmulDescAttributes_t what, const T& value) {
  check(cublasLtMatmulDescSetAttribute(d.get(), what, &value, sizeof value), "a product");
}

template <class T>
void set(const preference& p, cublasLtMatmulPreferenceAttributes_t what, const T& value) {
  check(cublasLtMatmulPreferenceSetAttribute(p.get(), what, &value, sizeof value), "a product");
}

/// Alignment of the address in bytes; 256 is more than any algorithm needs.
uint32_t alignment_of(const void* p) {
  return uint32_t{1} << std::min(8, std::countr_zero(reinterpret_cast<uintptr_t>(p)));
}

}  // namespace

struct gemm::plan {
  description product;
  layout w, x, y;
  cublasLtMatmulAlgo_t algorithm{};
};

gemm::gemm(std::shared_ptr<workspace> room) {
  use(std::move(room));
  int device = 0;
  check(cudaGetDevice(&device), "the device");
  handle_ = pooled_handle<cublasLtHandle_t>(device, [] {
    cublasLtHandle_t made = nullptr;
    check(cublasLtCreate(&made), "cuBLAS");
    return made;
  });
}

gemm::~gemm() = default;

void gemm::use(std::shared_ptr<workspace> room) {
  room->products();  // now, as a captured stream cannot allocate
  room_ = std::move(room);
}

gemm::key gemm::key_of(const gemm_args& a) {
  uint64_t flags = 0;
  for (const bool flag : {a.float_y, a.bias != nullptr, a.x_turned, a.w_turned, a.relu, a.tf32})
    flags = flags * 2 + flag;
  return {a.rows,
          a.in,
          a.out,
          a.y_stride,
          static_cast<uint64_t>(a.type) << 32 | flags,
          a.batch,
          static_cast<uint64_t>(a.x_step),
          static_cast<uint64_t>(a.w_step),
          static_cast<uint64_t>(a.y_step),
          alignment_of(a.x),
          alignment_of(a.w),
          alignment_of(a.y),
          alignment_of(a.bias)};
}

const gemm::plan& gemm::plan_of(const gemm_args& a) {
  const key wanted = key_of(a);
  if (const auto known = plans_.find(wanted); known != plans_.end()) return known->second;

  plan p;
  cublasLtMatmulDesc_t product = nullptr;
  const bool tf32 = a.tf32 && a.type == element::f32;
  check(cublasLtMatmulDescCreate(&product, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                 CUDA_R_32F),
        "a product");
  p.product.reset(product);
  // cuBLAS is column-major: y^T [out, rows] = W [out, in] x^T, where W in memory is [in, out] transposed
  set(p.product, CUBLASLT_MATMUL_DESC_TRANSA, a.w_turned ? CUBLAS_OP_N : CUBLAS_OP_T);
  set(p.product, CUBLASLT_MATMUL_DESC_TRANSB, a.x_turned ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (a.relu)
    set(p.product, CUBLASLT_MATMUL_DESC_EPILOGUE,
        a.bias != nullptr ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU);
  if (a.bias != nullptr) {
    if (!a.relu) set(p.product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(p.product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(a.type));
    set(p.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, a.bias);
  }
  const auto operand = [&](uint64_t outer, bool turned, int64_t step) {
    return turned ? make_layout(cuda_type(a.type), outer, a.in, outer, a.batch, step)
                  : make_layout(cuda_type(a.type), a.in, outer, a.in, a.batch, step);
  };
  p.w = operand(a.out, a.w_turned, a.w_step);
  p.x = operand(a.rows, a.x_turned, a.x_step);
  const cudaDataType_t y_type = a.float_y ? CUDA_R_32F : cuda_type(a.type);
  p.y = make_layout(y_type, a.out, a.rows, a.y_stride, a.batch, a.y_step);

  cublasLtMatmulPreference_t made = nullptr;
  check(cublasLtMatmulPreferenceCreate(&made), "a product");
  const preference limits(made);
  set(limits, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace::products_bytes);
  set(limits, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(a.w));
  set(limits, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(a.x));
  set(limits, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(a.y));
  set(limits, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(a.y));
  // reduce partial sums in f32; the other schemes add them in y's type
  if (y_type != CUDA_R_32F)
    set(limits, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  cublasLtMatmulHeuristicResult_t found[4] = {};  // the best first; some may be unusable
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, p.product.get(), p.w.get(), p.x.get(), p.y.get(), p.y.get(),
                                     limits.get(), static_cast<int>(std::size(found)), found, &count);
  const auto* const end = found + (status == CUBLAS_STATUS_SUCCESS ? count : 0);
  const auto* best = found;
  while (best != end && best->state != CUBLAS_STATUS_SUCCESS) ++best;
  if (best == end)
    throw blas_error(status == CUBLAS_STATUS_SUCCESS ? CUBLAS_STATUS_NOT_SUPPORTED : status,
                     "a product of [" + std::to_string(a.rows) + ", " + std::to_string(a.in) + "] and [" +
                         std::to_string(a.out) + ", " + std::to_string(a.in) + "]" +
                         (a.batch > 1 ? ", " + std::to_string(a.batch) + " of them" : ""));
  p.algorithm = best->algo;
  return plans_.emplace(wanted, std::move(p)).first->second;
}

void gemm::run(const gemm_args& a, cudaStream_t stream) {
  const plan& p = plan_of(a);
  if (a.bias != nullptr) set(p.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, a.bias);
  const float of_y = a.adds ? 1 : 0;
  const device_memory& room = room_->products();
  const cublasStatus_t status =
      cublasLtMatmul(handle_, p.product.get(), &a.scale, a.w, p.w.get(), a.x, p.x.get(), &of_y, a.y,
                     p.y.get(), a.y, p.y.get(), &p.algorithm, room.data(), room.size(), stream);
  if (status != CUBLAS_STATUS_SUCCESS) throw_if_lost(stream, "a product");
  check(status, "a product");
}

}  // namespace troupe::cuda
