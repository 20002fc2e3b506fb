// The part of NCCL that device_group.cpp uses, for machines without it: device_group_abort_test.cpp defines the
// functions.
#pragma once
#include <cstddef>

#include "cuda_runtime_api.h"

struct ncclComm;
using ncclComm_t = ncclComm*;
enum ncclResult_t { ncclSuccess, ncclInternalError };
enum ncclDataType_t { ncclUint8, ncclFloat16, ncclBfloat16, ncclFloat32 };
enum ncclRedOp_t { ncclSum };

const char* ncclGetErrorString(ncclResult_t result);
ncclResult_t ncclCommInitAll(ncclComm_t* made, int count, const int* devices);
ncclResult_t ncclCommDestroy(ncclComm_t c);
ncclResult_t ncclCommAbort(ncclComm_t c);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t c, cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t c, cudaStream_t stream);
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int to, ncclComm_t c,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int from, ncclComm_t c,
                      cudaStream_t stream);
