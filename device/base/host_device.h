// GRAPHTREE_HOST_DEVICE marks an inline function that host bodies and CUDA bodies both call, so
// that a computation is written once and gives the same bytes on both devices.
//
//   GRAPHTREE_HOST_DEVICE inline uint32_t Mixed(uint32_t x) { return x ^ (x >> 15); }
//
// It is empty outside nvcc. Integer arithmetic agrees by itself; floats agree only where every
// operation is rounded by itself (no fused multiply-add) and sums have one fixed order.
#ifndef GRAPHTREE_DEVICE_BASE_HOST_DEVICE_H_
#define GRAPHTREE_DEVICE_BASE_HOST_DEVICE_H_

#ifdef __CUDACC__
#define GRAPHTREE_HOST_DEVICE __host__ __device__
#else
#define GRAPHTREE_HOST_DEVICE
#endif

#endif  // GRAPHTREE_DEVICE_BASE_HOST_DEVICE_H_
