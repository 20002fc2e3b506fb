// What device_group.hpp needs of CUDA.
#pragma once
using cudaStream_t = struct CUstream_st*;
