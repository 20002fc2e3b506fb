# The CUDA compiler and its libraries: code for Hopper (sm_90a), and PTX for everything from Ampere (sm_80) on.
find_program(TROUPE_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
if(NOT TROUPE_NVCC)
  message(FATAL_ERROR "There is no nvcc: install the CUDA toolkit 13, or say where it is in CUDA_PATH.")
endif()
set(CMAKE_CUDA_COMPILER ${TROUPE_NVCC})
set(CMAKE_CUDA_ARCHITECTURES OFF)  # set below: CMake 3.25 cannot express both
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know it for any nvcc
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
find_package(CUDAToolkit 13 REQUIRED)

add_library(troupe_cuda_house INTERFACE)
target_link_libraries(troupe_cuda_house INTERFACE troupe_house CUDA::cudart_static)
target_compile_options(troupe_cuda_house INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-lineinfo;-gencode=arch=compute_90a,code=sm_90a;-gencode=arch=compute_80,code=compute_80;-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror,-Wno-restrict>)

# NCCL, for models on several GPUs. It is not part of every toolkit; builds without it refuse such models.
add_library(troupe_nccl INTERFACE)
find_path(TROUPE_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(TROUPE_NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
if(TROUPE_NCCL_INCLUDE AND TROUPE_NCCL_LIBRARY)
  target_compile_definitions(troupe_nccl INTERFACE TROUPE_NCCL=1)
  target_include_directories(troupe_nccl SYSTEM INTERFACE ${TROUPE_NCCL_INCLUDE})
  target_link_libraries(troupe_nccl INTERFACE ${TROUPE_NCCL_LIBRARY})
endif()

set(TROUPE_NVIDIA_LICENCES "" CACHE STRING
  "Files with the licences of NVIDIA's libraries, for a bundle where they are from no Debian package")

# cuDNN, for convolutions; not part of the toolkit either.
add_library(troupe_cudnn INTERFACE)
find_path(TROUPE_CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(TROUPE_CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR})
if(TROUPE_CUDNN_INCLUDE AND TROUPE_CUDNN_LIBRARY)
  target_compile_definitions(troupe_cudnn INTERFACE TROUPE_CUDNN=1)
  target_include_directories(troupe_cudnn SYSTEM INTERFACE ${TROUPE_CUDNN_INCLUDE})
  target_link_libraries(troupe_cudnn INTERFACE ${TROUPE_CUDNN_LIBRARY})
endif()
