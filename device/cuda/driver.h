// The driver's entry points that we call directly: those that the CUDA Runtime lacks (virtual
// memory, contexts, reading a graph's nodes), and those of the hot path, where the Runtime's layer
// would cost too much.
//
// The Runtime looks them up in the driver when the first device is opened. So nothing here links
// against libcuda, and the binary starts on a machine without a driver. Each line names the version
// of CUDA whose signature is meant, which newer drivers provide, too.
//
// Threads: the table is made once and never changes.
#ifndef GRAPHTREE_DEVICE_CUDA_DRIVER_H_
#define GRAPHTREE_DEVICE_CUDA_DRIVER_H_

#include <cuda.h>
#include <cudaTypedefs.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// ENTRY(name without "cu", version of the signature)
#define GRAPHTREE_DRIVER_ENTRIES(ENTRY)        \
  ENTRY(CtxGetCurrent, 4000)                   \
  ENTRY(CtxPopCurrent, 4000)                   \
  ENTRY(CtxPushCurrent, 4000)                  \
  ENTRY(DeviceGet, 2000)                      \
  ENTRY(DeviceGetAttribute, 2000)             \
  ENTRY(DevicePrimaryCtxRelease, 11000)        \
  ENTRY(DevicePrimaryCtxRetain, 7000)          \
  ENTRY(FuncGetAttribute, 2020)                \
  ENTRY(FuncGetName, 12030)                    \
  ENTRY(FuncGetParamInfo, 12040)               \
  ENTRY(FuncLoad, 12040)                       \
  ENTRY(FuncSetAttribute, 9000)                \
  ENTRY(GraphExecKernelNodeSetParams, 12000)   \
  ENTRY(GraphExecMemsetNodeSetParams, 10020)   \
  ENTRY(GraphKernelNodeGetAttribute, 11000)    \
  ENTRY(GraphKernelNodeGetParams, 12000)       \
  ENTRY(GraphLaunch, 10000)                    \
  ENTRY(GraphMemcpyNodeGetParams, 10000)       \
  ENTRY(GraphMemsetNodeGetParams, 10000)       \
  ENTRY(KernelGetFunction, 12000)              \
  ENTRY(KernelGetName, 12030)                  \
  ENTRY(KernelGetParamInfo, 12040)             \
  ENTRY(LaunchKernelEx, 11060)                 \
  ENTRY(MemAddressFree, 10020)                 \
  ENTRY(MemAddressReserve, 10020)              \
  ENTRY(MemCreate, 10020)                      \
  ENTRY(MemGetAllocationGranularity, 10020)    \
  ENTRY(MemMap, 10020)                         \
  ENTRY(MemRelease, 10020)                     \
  ENTRY(MemSetAccess, 10020)                   \
  ENTRY(MemUnmap, 10020)                       \
  ENTRY(MemsetD8Async, 3020)                   \
  ENTRY(MemsetD16Async, 3020)                  \
  ENTRY(MemsetD32Async, 3020)                  \
  ENTRY(PointerGetAttribute, 4000)             \
  ENTRY(StreamGetCtx, 9020)                    \
  ENTRY(ThreadExchangeStreamCaptureMode, 10010)


namespace graphtree {

struct Driver {
#define GRAPHTREE_ENTRY_MEMBER(name, version) PFN_cu##name##_v##version name = nullptr;
  GRAPHTREE_DRIVER_ENTRIES(GRAPHTREE_ENTRY_MEMBER)
#undef GRAPHTREE_ENTRY_MEMBER
  int version = 0;  // 13000 for 13.0
};

// OK if there is a driver and it is new enough for the Runtime in this binary; else says which.
absl::Status CheckDriver();

// The table, or why there is none.
absl::StatusOr<const Driver*> LoadDriver();

// True if the driver has the entry point in (at least) that version of CUDA.
bool DriverHas(const char* name, int version);

// "13.0" for 13000.
std::string VersionText(int version);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_DRIVER_H_
