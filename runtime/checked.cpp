#include "runtime/checked.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/import/import.h"
#include "compiler/ir/range/outside.h"
#include "compiler/spec/rounding.h"
#include "runtime/cuda/device_memory.h"

namespace fa {
namespace {

constexpr double kExactInLse = 1 << 20;  // lse is an f32, and exact to some units of its last place

/// Memory where a kernel runs, for one call.
class Room {
 public:
  Room(Device device, int cuda_device, std::size_t bytes) {
    if (device == Device::cuda)
      on_gpu_.emplace(CudaDevice::get(cuda_device), bytes);
    else
      on_host_ = std::make_unique<float[]>(ceil_div(bytes, sizeof(float)));
  }
  void* data() const { return on_gpu_ ? on_gpu_->data() : on_host_.get(); }
  void download(void* to, std::size_t bytes, Stream stream) const {
    if (on_gpu_)
      on_gpu_->download(to, bytes, 0, stream);
    else
      std::copy_n(static_cast<const std::byte*>(data()), bytes, static_cast<std::byte*>(to));
  }

 private:
  std::optional<DeviceBuffer> on_gpu_;
  std::unique_ptr<float[]> on_host_;
};

class Checker {
 public:
  Checker(const Spec& spec, const Options& options, Device device)
      : spec_(import_hooks(spec.checked())), reads_(outside_reads(spec_)), options_(options) {
    options_.device = device;
    options_.plan = {};  // it was for the spec itself
    options_.checked = options_.backward = false;
    options_.memory_cache = false;  // whose key is the spec's text
    if (!reads_.empty()) rows_.emplace(compile_probe(probe_rows(spec_, reads_)));
  }

  bool proved() const { return reads_.empty(); }

  void run(const ForwardArgs& args, Stream stream) const {
    const std::vector<float> lse = lse_of(*rows_, args, stream);
    const auto found = std::find_if(lse.begin(), lse.end(), [](float x) { return x != -HUGE_VALF; });
    if (found == lse.end()) return;
    const auto row = static_cast<std::int64_t>(found - lse.begin());
    const std::int64_t heads = args.q.shape[1], q_len = args.q.shape[2];
    const Element element = {
        .b = static_cast<int>(row / q_len / heads),
        .h = static_cast<int>(row / q_len % heads),
        .q_idx = static_cast<int>(row % q_len),
        .kv_idx = static_cast<int>(std::lround(static_cast<double>(*found) / -kProbeStep))};
    for (const OutsideRead& read : reads_) {
      std::vector<float> indices;
      const auto is_it = [&](const ExprPtr& shown) {
        const Kernel probe = compile_probe(probe_element(spec_, read, element, shown));
        indices.push_back(lse_of(probe, args, stream)[static_cast<std::size_t>(row)]);
        return indices.back() != -HUGE_VALF;
      };
      if (!is_it(read.indices.empty() ? nullptr : read.indices[0])) continue;
      for (std::size_t i = 1; i < read.indices.size(); ++i) is_it(read.indices[i]);
      if (read.indices.empty()) indices.clear();
      report(read, element, indices);
    }
    throw ArgumentError(fmt::format("a hook reads outside a tensor at b {}, h {}, q_idx {}, kv_idx near {}",
                                    element.b, element.h, element.q_idx, element.kv_idx));
  }

 private:
  Kernel compile_probe(CheckedSpec probe) const {
    return compile(Spec(std::make_shared<const CheckedSpec>(std::move(probe))), options_);
  }

  std::vector<float> lse_of(const Kernel& kernel, const ForwardArgs& call, Stream stream) const {
    const auto& [batch, heads, q_len, dim] = call.q.shape;
    const auto room = [&](std::size_t bytes) { return Room(options_.device, options_.cuda_device, bytes); };
    const auto rows = static_cast<std::size_t>(batch * heads * q_len);
    const std::size_t row_bytes = static_cast<std::size_t>(spec_.head_dim_v * dtype_bytes(spec_.dtype));
    const Room o = room(rows * row_bytes), lse = room(rows * sizeof(float));
    ForwardArgs args = call;
    args.o = Tensor::bhsd(o.data(), spec_.dtype, batch, heads, q_len, spec_.head_dim_v);
    args.lse = static_cast<float*>(lse.data());
    args.dropout = {};
    args.workspace_bytes = kernel.workspace_bytes(args);
    const Room workspace = room(args.workspace_bytes);
    args.workspace = workspace.data();
    kernel.forward(args, stream);
    std::vector<float> values(rows);
    lse.download(values.data(), rows * sizeof(float), stream);
    return values;
  }

  [[noreturn]] void report(const OutsideRead& read, const Element& at, std::span<const float> shown) const {
    const std::string where = fmt::format("at b {}, h {}, q_idx {}, kv_idx {} ({}:{}:{})", at.b, at.h,
                                          at.q_idx, at.kv_idx, spec_.file, read.line, read.column);
    const std::vector<std::string> numbers = exact(shown);
    if (read.kind == OutsideRead::Kind::range) {
      throw ArgumentError(
          fmt::format("the range of a reduction is {}, its maximum {} {}: raise the maximum, or pass less",
                      numbers.empty() ? "larger" : numbers[0], read.count, where));
    }
    const std::string& tensor = spec_.tensors[static_cast<std::size_t>(read.tensor)].info.name;
    if (read.kind == OutsideRead::Kind::value) {
      const std::string element =
          numbers.empty() ? "; read" : fmt::format(" at [{}], read", fmt::join(numbers, ", "));
      throw ArgumentError(
          fmt::format("tensor '{}' holds a number that is no i32{} {}: the numbers of an i64 "
                      "tensor must fit one where they are read",
                      tensor, element, where));
    }
    throw ArgumentError(
        fmt::format("index {} of tensor '{}' is {}outside its extent {}: correct the index, or "
                    "what the call's tensors hold",
                    read.dimension, tensor, numbers.empty() ? "" : numbers[0] + ", ", where));
  }

  /// The numbers as text; empty where one of them is too large for the probe to return.
  static std::vector<std::string> exact(std::span<const float> shown) {
    std::vector<std::string> texts;
    for (const float number : shown) {
      if (std::abs(static_cast<double>(number)) > kExactInLse) return {};
      texts.push_back(std::to_string(std::lround(number)));
    }
    return texts;
  }

  CheckedSpec spec_;
  std::vector<OutsideRead> reads_;
  Options options_;
  std::optional<Kernel> rows_;
};

}  // namespace

Check make_check(const Spec& spec, const Options& options, Device device) {
  const auto checker = std::make_shared<const Checker>(spec, options, device);
  if (checker->proved()) return {};
  return [checker](const ForwardArgs& args, Stream stream) { checker->run(args, stream); };
}

}  // namespace fa
