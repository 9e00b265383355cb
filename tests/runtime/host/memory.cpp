// A host call of the same size as the one before it allocates nothing. The test counts calls of operator new,
// which it cannot replace under sanitizers.
#include <cstdlib>
#include <new>
#include <numeric>

#include "fa/fa.h"
#include "tests/catch.h"

#ifndef FA_SANITIZED

namespace {
thread_local std::size_t allocations = 0;
}

// Not inlined: seeing inside, GCC takes free() for the wrong way to give back what operator new gave.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const auto multiple = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(multiple, (bytes + multiple - 1) / multiple * multiple))
    return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

using namespace fa;

TEST_CASE("host: a call like the one before it allocates nothing on the calling thread") {
  const Spec spec = Spec::parse(
      "attention t\nhead_dim 16\ndtype f32\ntensor document : i32[batch, kv_len]\n"
      "mask_mod = document[b, min(q_idx, kv_len - 1)] == document[b, kv_idx] and q_idx >= kv_idx\n");
  for (const int threads : {1, 2}) {
    const Kernel kernel = compile(
        spec, {.device = Device::host, .num_threads = threads, .disk_cache = false, .memory_cache = false});
    constexpr std::int64_t length = 500;
    std::vector<float> q(2 * 4 * length * 16, 0.5f), k = q, v = q, o(q.size());
    std::vector<std::int32_t> document(2 * length);
    std::iota(document.begin(), document.end(), 0);
    for (std::int32_t& id : document) id = id % 500 / 90;
    const auto view = [](std::vector<float>& x) {
      return Tensor::bhsd(x.data(), DType::f32, 2, 4, length, 16);
    };
    const ForwardArgs args{.q = view(q),
                           .k = view(k),
                           .v = view(v),
                           .o = view(o),
                           .tensors = {{.name = "document",
                                        .data = document.data(),
                                        .dtype = DType::i32,
                                        .shape = {2, length},
                                        .rank = 2}}};
    CHECK(kernel.workspace_bytes(args) == 0);
    kernel.forward(args);
    kernel.forward(args);
    const std::size_t before = allocations;
    for (int repeat = 0; repeat < 20; ++repeat) kernel.forward(args);
    const std::size_t after = allocations;
    INFO(threads << " threads");
    CHECK(after - before == 0);
    CHECK(o[0] == 0.5f);
  }
}

#endif
