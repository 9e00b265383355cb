// FA_HOST_DEVICE marks a function that host and device share. For NVRTC, nvcc and g++.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define FA_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define FA_HOST_DEVICE inline
#endif
