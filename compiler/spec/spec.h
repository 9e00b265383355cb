// The checked spec: the value between check and lower. Names are resolved, types known, constants folded.
#pragma once

#include <string>
#include <vector>

#include "compiler/spec/expr.h"
#include "fa/spec.h"

namespace fa {

struct CheckedTensor {
  TensorInfo info;
  std::vector<ExprPtr> extents;  // i32, over the problem's builtins and params only
  ExprPtr example;               // over i0..i3, the problem's builtins, params; may be null
};

struct CheckedSpec {
  std::string file;
  std::string name;
  int head_dim = 0;
  int head_dim_v = 0;
  DType dtype = DType::bf16;
  double scale = 0;           // tau, a positive finite constant
  std::vector<ParamInfo> params;
  std::vector<CheckedTensor> tensors;
  std::vector<TensorInfo> tensor_infos;
  ExprPtr score_mod;          // f32; null: the score itself
  ExprPtr mask_mod;           // boolean, true = keep; null: keep everything
  bool has_dropout = false;
  double dropout = 0;         // default probability in [0, 1]
  std::string text;           // canonical text
  std::vector<Diagnostic> warnings;
};

}  // namespace fa
