// A compiled attention kernel and the tensors it is called with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fa/export.h"
#include "fa/options.h"
#include "fa/spec.h"

namespace fa FA_API {

/// A view of caller-owned memory, [batch, heads, length, dim]; strides in elements. The innermost stride must
/// be 1. BSHD memory is the same view with other strides. `data` lives where the kernel runs (device or host
/// memory).
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::bf16;
  std::array<std::int64_t, 4> shape{};    // batch, heads, length, dim
  std::array<std::int64_t, 4> strides{};  // in elements

  /// Contiguous [batch, heads, length, dim].
  static Tensor bhsd(void* data, DType dtype, std::int64_t batch, std::int64_t heads, std::int64_t length,
                     std::int64_t dim);
  /// Contiguous [batch, length, heads, dim], viewed as [batch, heads, length, dim].
  static Tensor bshd(void* data, DType dtype, std::int64_t batch, std::int64_t heads, std::int64_t length,
                     std::int64_t dim);
};

/// A captured tensor: row-major and contiguous, its extents outermost first.
struct Captured {
  std::string_view name;
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::array<std::int64_t, kMaxRank> shape{};
  int rank = 0;
};

struct NamedScalar {
  std::string_view name;
  Scalar value;
};

/// Arguments of one forward call. Nothing here is copied beyond the launch; memory stays the caller's. o, lse
/// and the workspace share no memory with each other, nor with what the call reads.
struct ForwardArgs {
  Tensor q;              // [B, num_q_heads, q_len, head_dim]
  Tensor k;              // [B, num_kv_heads, kv_len, head_dim]
  Tensor v;              // [B, num_kv_heads, kv_len, head_dim_v]
  Tensor o;              // [B, num_q_heads, q_len, head_dim_v], written
  float* lse = nullptr;  // [B, num_q_heads, q_len] fp32, natural log; optional; -inf on an empty row
  std::vector<Captured> tensors = {};    // every tensor of the spec, in any order
  std::vector<NamedScalar> params = {};  // those that differ from their defaults
  std::optional<float> dropout = {};     // probability; default: the spec's
  std::uint64_t seed = 0;                // dropout seed
  void* workspace =
      nullptr;  // of Kernel::workspace_bytes(args), where the kernel runs; 16-byte aligned; null where that is 0
  std::size_t workspace_bytes = 0;
};

using Stream = void*;  // a CUstream / cudaStream_t; ignored on the host. nullptr: the default stream

/// Where the time of one `compile` went, in milliseconds.
struct CompileTimes {
  double front_end = 0;  // parse, check, lower, analyse, choose, emit
  double build = 0;      // NVRTC or LLVM's code generator; 0 on a cache hit
  double driver = 0;     // the CUDA driver's start, as far as it was waited for; once a process and GPU
  double load = 0;       // reading the disk cache, the driver's loading or ORC's linking
  double total = 0;
  enum class Source { compiled, disk, memory } source = Source::compiled;
  /// Where it was compiled: why the disk cache did not have it ("no entry", "damaged", ...). Empty without a
  /// disk cache.
  std::string miss;
  /// Why the disk cache could not keep what was compiled, or empty.
  std::string not_kept;
  double tune = 0;  // Tune::once: timing plans, before the rest
  /// Where a tuned plan was looked for (Options::tune): which one is used and since when it is known, why a
  /// remembered one is not used, or why none could be found or kept. Empty where none is remembered.
  std::string tuned;
};

/// One of a kernel's plans, and the calls that it is for.
struct KernelPlan {
  std::string calls;  // "up to 66 CTAs of work", "all other calls", or "every call" of a kernel with one plan
  std::string plan;   // printed
};

struct BackwardArgs;  // fa/backward.h
struct KernelState;   // runtime/

/// A loaded kernel; cheap to copy, usable from several threads at once, outlives the spec.
class Kernel {
 public:
  /// Enqueues one forward pass: stream-ordered, allocates nothing on the device. On the host it returns when
  /// done, and what it needs beyond its tensors stays with the calling thread for the next call. Throws
  /// ArgumentError naming the tensor that does not fit, DeviceError where the launch fails.
  void forward(const ForwardArgs& args, Stream stream = nullptr) const;

  /// Bytes of memory, where the kernel runs, that `forward` needs as args.workspace: 0 for most specs, and of fused
  /// kernels on the host; a few bytes a tile where the mask reads tables, on a GPU; all scores, or O in f32, of a
  /// baseline on either (docs/baselines.md). One call at a time may use it. Shorter calls may need more, where they have
  /// a plan with smaller tiles. Throws ArgumentError like `forward`.
  std::size_t workspace_bytes(const ForwardArgs& args) const;

  /// One backward pass (fa/backward.h), of a kernel that was compiled with Options::backward: dQ, dK, dV
  /// and the gradients of what the spec marks `grad`. Rows without a key give nothing. On a GPU it is
  /// stream-ordered and allocates nothing; on the host it returns when done, with the same bits for any
  /// number of threads. Throws ArgumentError naming what does not fit.
  void backward(const BackwardArgs& args, Stream stream = nullptr) const;

  /// Bytes of memory, where the kernel runs, that `backward` needs as args.workspace, for the sums of its parts
  /// (docs/backward.md). One call at a time may use it. Throws ArgumentError like `backward`.
  std::size_t backward_workspace_bytes(const BackwardArgs& args) const;

  Device device() const;  // cuda or host, never automatic
  const Spec& spec() const;
  const std::string& target() const;  // "h200", "host", ...
  const std::string& plan() const;  // the plan, printed; of several (docs/tuning.md) the one for large calls
  /// All plans of forward. More than one only on a GPU, each with code of its own, which `compile` has built.
  std::vector<KernelPlan> plans() const;
  /// The one of them that `forward` runs for a call. Throws ArgumentError like `forward`.
  KernelPlan plan_for(const ForwardArgs& args) const;
  const CompileTimes& times() const;

  explicit Kernel(std::shared_ptr<const KernelState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const KernelState> state_;
};

/// Compiles `spec` for the device named by `options`, or takes it from the caches.
/// Throws BuildError, DeviceError (no such device), SpecError (the target cannot run the spec, with the
/// remedy).
Kernel compile(const Spec& spec, const Options& options = {});

}  // namespace fa FA_API
