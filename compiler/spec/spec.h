// The checked spec: the value between check and lower. Names are resolved, types known, constants folded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/spec/expr.h"
#include "compiler/spec/hook_file.h"
#include "fa/spec.h"

namespace fa {

struct Ast;  // compiler/spec/parse/ast.h

constexpr int kMaxSpecParams = 16;  // templates/params.h holds as many; a test compares the two
constexpr int kMaxSpecTensors = 16;
constexpr int kMaxLength = 1 << 24;     // of q_len and kv_len: floats hold every index
constexpr int kMaxReduction = 4096;     // steps of one reduction
constexpr int kMaxNestedSteps = 65536;  // and of reductions inside each other, multiplied
constexpr int kMaxParameters = 16;      // of one function
constexpr int kMaxInlined = 16384;      // operations that calls of functions add, in a whole spec

struct CheckedTensor {
  TensorInfo info;
  std::vector<ExprPtr> extents;  // i32, over the problem's builtins and params only
  ExprPtr example;               // over i0..i5, the problem's builtins, params; may be null
};

struct CheckedSpec {
  std::string file;
  std::string name;
  int head_dim = 0;
  int head_dim_v = 0;
  DType dtype = DType::bf16;
  double scale = 0;  // tau, a positive finite constant
  std::vector<ParamInfo> params;
  std::vector<CheckedTensor> tensors;
  std::vector<TensorInfo> tensor_infos;
  ExprPtr score_mod;    // f32; null: the score itself, or what `score_from` holds
  ExprPtr mask_mod;     // boolean, true = keep; null: keep everything, or what `mask_from` holds
  HookFile score_from;  // of no path: the hook is written in the spec. compiler/ir/import/import.h reads them
  HookFile mask_from;
  ExprPtr sink;  // f32, of b and h: one more logit in each row's softmax, which has no value; null: none
  bool has_dropout = false;
  double dropout = 0;              // default probability in [0, 1]
  std::string text;                // canonical text
  std::shared_ptr<const Ast> ast;  // what it was checked from
  std::vector<Diagnostic> warnings;

  bool has_score_mod() const { return score_mod != nullptr || !score_from.path.empty(); }
  bool has_mask_mod() const { return mask_mod != nullptr || !mask_from.path.empty(); }
};

/// A later stage's finding about a place of the spec (an Expr's line and column), with that source line.
Diagnostic warning_at(const CheckedSpec& spec, int line, int column, std::string message,
                      std::string remedy = {});

}  // namespace fa
