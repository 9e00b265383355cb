// A checked attention spec: what a variant computes. Parse one from text, or build one in C++.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fa/error.h"
#include "fa/export.h"

namespace fa FA_API {

/// Element types. `f16`, `bf16`, `f32` for q, k, v and o; all eight for captured tensors.
enum class DType : std::uint8_t { f16, bf16, f32, i32, i8, boolean, i64, u8 };

/// The most dimensions that a captured tensor may have.
constexpr int kMaxRank = 6;

std::string_view dtype_name(DType dtype);  // "f16", "bf16", "f32", "i32", "i8", "bool", "i64", "u8"
int dtype_bytes(DType dtype);

/// A run-time scalar: an i32 or an f32.
using Scalar = std::variant<std::int32_t, float>;

/// A run-time number of the spec (`param window : i32 = 1024`).
struct ParamInfo {
  std::string name;
  Scalar default_value;  // its alternative is the param's type
  bool grad = false;     // marked `grad`: the backward pass gives its gradient
};

/// A captured tensor of the spec (`tensor slopes : f32[num_q_heads]`).
struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::string> extents;  // canonical text of each extent, outermost first; at most kMaxRank
  bool grad = false;                 // marked `grad`: the backward pass gives its gradient
};

/// The pieces of a spec as text, for building one in C++; empty means "not there".
/// The expressions are written in the spec language (docs/spec_language.md).
struct SpecParts {
  struct Tensor {
    std::string name;
    DType dtype = DType::f32;
    std::vector<std::string> extents;  // "num_q_heads", "2 * window + 1", ...
    std::string example;               // optional: `= expression` over i0..i5, what `facet run` fills it with
    bool grad = false;
  };
  struct Let {
    std::string name;
    std::string value;
    std::vector<std::string> parameters = {};  // not empty: a function, `let near(x, y) = ...`
  };
  std::string name = "attention";
  int head_dim = 128;
  int head_dim_v = 0;  // 0: head_dim
  DType dtype = DType::bf16;
  std::string scale;  // empty: 1 / sqrt(head_dim)
  std::vector<ParamInfo> params;
  std::vector<Tensor> tensors;
  std::vector<Let> lets;
  std::string score_mod;
  std::string mask_mod;
  /// Instead of score_mod or mask_mod: a file of LLVM IR, relative to the working directory
  /// (docs/spec_language.md, "Hooks from LLVM IR").
  std::string score_mod_from;
  std::string mask_mod_from;
  std::string sink;     // one more logit in each row's softmax, by head
  double dropout = -1;  // negative: no dropout; else the default probability
};

struct CheckedSpec;  // compiler/spec/spec.h

/// An immutable, checked spec; cheap to copy.
class Spec {
 public:
  /// Parses and checks `text`; `file` names it in messages. Throws SpecError with every finding.
  static Spec parse(std::string_view text, std::string file = "<spec>");
  /// Reads and parses a .fa file. Throws SpecError also where the file cannot be read.
  static Spec load(const std::string& path);
  /// Builds a spec from parts; the same language, the same checks.
  static Spec build(const SpecParts& parts);

  /// The same spec with another head_dim / head_dim_v / dtype (0 and nullopt-like values keep the present
  /// one).
  Spec with_head_dim(int head_dim, int head_dim_v = 0) const;
  Spec with_dtype(DType dtype) const;

  const std::string& name() const;
  int head_dim() const;
  int head_dim_v() const;
  DType dtype() const;
  bool has_dropout() const;
  bool has_sink() const;
  const std::vector<ParamInfo>& params() const;
  const std::vector<TensorInfo>& tensors() const;
  /// Warnings found while checking; never errors.
  const std::vector<Diagnostic>& warnings() const;
  /// Canonical text: parses back to an equal spec.
  std::string text() const;

  const CheckedSpec& checked() const { return *checked_; }
  explicit Spec(std::shared_ptr<const CheckedSpec> checked) : checked_(std::move(checked)) {}

 private:
  std::shared_ptr<const CheckedSpec> checked_;
};

}  // namespace fa FA_API
