// Runs the first kernel of a bundle on all-ones inputs. What this links holds neither LLVM nor NVRTC:
//   facet build specs/causal.fa --arch sm_80,sm_90 -o kernels/ && run_bundle kernels/
#include <fa/bundle.h>
#include <fa/memory.h>

#include <chrono>
#include <cstdio>

int main(int argc, char** argv) try {
  const fa::Bundle bundle = fa::load_bundle(argc > 1 ? argv[1] : "kernels/");
  for (const fa::BundleEntry& e : bundle.entries())
    std::printf("%s %s d%d %s%s\n", e.name.c_str(), fa::dtype_name(e.dtype).data(), e.head_dim,
                e.arch.c_str(), e.backward ? ", with its backward pass" : "");

  const fa::BundleEntry& first = bundle.entries().front();  // of 16 bits and without captured tensors
  constexpr std::size_t kHeads = 4, kLength = 1000;
  std::vector<std::uint16_t> ones(kHeads * kLength * static_cast<std::size_t>(first.head_dim),
                                  first.dtype == fa::DType::f16 ? 0x3c00 : 0x3f80);
  fa::GpuMemory in(ones.size() * 2), out(ones.size() * 2);  // its first use opens the GPU's context
  in.upload(ones.data(), ones.size() * 2);
  const auto view = [&](auto& x) {
    return fa::Tensor::bhsd(x.data(), first.dtype, 1, kHeads, kLength, first.head_dim);
  };
  const auto start = std::chrono::steady_clock::now();
  const fa::Kernel kernel = fa::load_bundle(bundle.path()).kernel(first.name, first.head_dim, first.dtype);
  kernel.forward({.q = view(in), .k = view(in), .v = view(in), .o = view(out)});
  std::vector<std::uint16_t> o(ones.size());
  out.download(o.data(), o.size() * 2);
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
  std::printf("%s: %s, %.2f ms from the file to the result\n", first.name.c_str(), o == ones ? "ok" : "WRONG",
              passed.count());
  return o == ones ? 0 : 1;
} catch (const fa::Error& error) {
  std::fprintf(stderr, "run_bundle: %s\n", error.what());
  return 2;
}
