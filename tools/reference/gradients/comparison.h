// A kernel's gradients beside the fp64 reference and its bound.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/problem/gradients.h"
#include "tools/reference/backward.h"

namespace fa::tools {

struct ComparedGradient {
  std::string name;
  double max_error = 0;
  double worst = 0;  // the largest share of its bound that an error takes; infinity for a NaN
  std::int64_t worst_element = 0;
  double worst_value = 0, worst_reference = 0, worst_bound = 0;
  std::int64_t odd_elements = 0;  // NaN, as what shares a tile with a NaN of q, k or v may be: not compared

  bool holds() const { return worst <= 1; }
  std::string print_worst() const;  // "d_q[flat 12] = 0.125, reference 0.1252, error 2.1e-4, bound 3.2e-3"
};

/// What the reference takes of a kernel's output gradients, and the reverse, which sets doubtful rows to 0.
OutputGradients widened(const OutputGradientTensors& outputs);
void narrow(const OutputGradients& from, OutputGradientTensors& to);

/// Sets the gradients of all other rows to 0, so that the reference passes them by.
void keep_rows(const ProblemSize& size, const std::vector<RowId>& rows, OutputGradients& outputs);

/// In the order of `gradients`.
std::vector<ComparedGradient> compare_gradients(const Problem& problem, const MeasuredGradients& reference,
                                                const KernelGradients& gradients);

}  // namespace fa::tools
