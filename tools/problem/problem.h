// One attention problem with all its numbers: sizes, q, k, v, captured tensors, params. Made from a spec, a
// seed and whatever files the user gave; `run` computes it, `bench` times it, and the reference checks it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/schedule/plan.h"
#include "fa/kernel.h"
#include "fa/spec.h"
#include "tools/problem/host_tensor.h"
#include "tools/reference/interpreter.h"

namespace fa::tools {

struct Problem {
  Spec spec;
  ProblemSize size;
  HostTensor q, k, v;               // [batch, heads, length, dim], in the spec's dtype
  std::vector<HostTensor> tensors;  // in the spec's order
  std::vector<Scalar> params;       // in the spec's order, defaults filled in
  float dropout = 0;
  std::uint64_t dropout_seed = 0;

  bool drops() const { return spec.has_dropout() && dropout > 0; }
};

/// What a problem is made from; everything left out is generated from `data_seed`.
struct ProblemInputs {
  ProblemSize size;
  std::map<std::string, std::string> params;  // name -> number as text
  std::map<std::string, std::string> files;   // "q", "k", "v" or a tensor's name -> .npy path
  std::optional<float> dropout;               // default: the spec's probability
  std::uint64_t dropout_seed = 0;
  std::uint64_t data_seed = 1;
};

/// Throws ArgumentError where a size is out of range, or heads are no multiple of kv heads.
void check_size(const ProblemSize& size);

/// Throws ArgumentError naming the param or file that does not fit, with the remedy; SpecError with the place
/// of a tensor whose extents do not fit the size.
Problem make_problem(const Spec& spec, const ProblemInputs& inputs);
/// The same without q, k and v, so only what hooks read. Cheap at any length.
Problem make_mask_problem(const Spec& spec, const ProblemInputs& inputs);

/// Whether every captured tensor has a shape in the problem, and all of them together no more elements than
/// `most`: an example for any lengths may be none for these.
bool tensors_fit(const Spec& spec, const ProblemInputs& inputs, std::int64_t most);

/// The values the problem's names have in this problem; element names (b, h, q_idx, kv_idx) are 0.
Environment problem_environment(const Problem& problem);
Environment problem_environment(const Spec& spec, const ProblemSize& size, std::span<const Scalar> params);

/// Params from `name=value` text over the defaults. Throws ArgumentError on an unknown name or a bad number.
std::vector<Scalar> parse_params(const Spec& spec, const std::map<std::string, std::string>& values);

/// Seeded N(0, 1) for floats, 0..7 for i32 and i8, 0 or 1 for bool.
void fill_random(HostTensor& tensor, std::uint64_t seed);
/// Evaluates a tensor's example at every element.
void fill_example(HostTensor& tensor, const ExprPtr& example, const Environment& environment);

}  // namespace fa::tools
