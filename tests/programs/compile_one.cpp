// Compiles a kernel for the host and runs it. tests/tools/command/library_memory.cpp runs this program with
// little memory. Its exit status is 0, 3 where it caught std::bad_alloc, or 4 after an error of Facet's,
// which it prints.
#include <fa/fa.h>

#include <cstdio>
#include <new>

int main() try {
  const auto spec = fa::Spec::parse(
      "attention near\nhead_dim 64\ndtype f32\nmask_mod = q_idx >= kv_idx and q_idx - kv_idx < 32\n");
  const auto kernel = fa::compile(spec, {.device = fa::Device::host, .num_threads = 1, .disk_cache = false});
  std::vector<float> q(64 * 64, 1.0f), k = q, v = q, o(q.size());
  const auto view = [](std::vector<float>& x) {
    return fa::Tensor::bhsd(x.data(), fa::DType::f32, 1, 1, 64, 64);
  };
  kernel.forward({.q = view(q), .k = view(k), .v = view(v), .o = view(o)});
  return o == v ? 0 : 1;
} catch (const std::bad_alloc&) {
  return 3;
} catch (const fa::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 4;
}
