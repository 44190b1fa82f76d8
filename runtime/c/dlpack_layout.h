// The structs of DLPack, by which frameworks hand each other tensors: as version 1.0 lays them out,
// and as those before it do. Others have their own text of the same bytes.
#ifndef GRAPHTREE_RUNTIME_C_DLPACK_LAYOUT_H_
#define GRAPHTREE_RUNTIME_C_DLPACK_LAYOUT_H_

#include <cstdint>

namespace graphtree::c::dlpack {

struct DataType {
  uint8_t code;  // 0 int, 1 unsigned, 2 float, 4 bfloat, 6 bool
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t rank;
  DataType dtype;
  int64_t* sizes;
  int64_t* strides;  // in elements
  uint64_t byte_offset;
};

struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed* self);
};

struct VersionedManaged {
  uint32_t major;
  uint32_t minor;
  void* context;
  void (*deleter)(VersionedManaged* self);
  uint64_t flags;
  Tensor tensor;
};

static_assert(sizeof(Tensor) == 48 && sizeof(Managed) == 64 && sizeof(VersionedManaged) == 80);

}  // namespace graphtree::c::dlpack

#endif  // GRAPHTREE_RUNTIME_C_DLPACK_LAYOUT_H_
