// The header in a CUDA file, in the form that gives results: existing code that launches on a raw
// stream.
#include "runtime/c/graphtree.hpp"

// A kernel of the program, known by its address; its parameters' types are taken from it.
__global__ void Double(int* out, const int* in) { out[threadIdx.x] = 2 * in[threadIdx.x]; }

gt::Result<gt::Function> RegisterDouble(const gt::Tree& tree) {
  return tree.Register("double", [](gt::Launcher& on) {
    const gt::View in = on.Input(0), out = on.Empty(in.layout);
    on.Reads(in);
    on.Writes(out);
    Double<<<1, 256, 0, static_cast<cudaStream_t>(on.native_stream())>>>(
        reinterpret_cast<int*>(out.word), reinterpret_cast<const int*>(in.word));
    return gt::Views{out};
  });
}

gt::Result<gt::Kernel> DoubleAsKernel() { return gt::Kernel::Of("double", Double, nullptr); }
