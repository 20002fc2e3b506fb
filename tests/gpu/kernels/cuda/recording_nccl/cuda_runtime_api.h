// The part of CUDA that device_group.hpp uses.
#pragma once
using cudaStream_t = struct CUstream_st*;
