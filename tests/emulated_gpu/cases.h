// Tiny problems for emulated kernels, compared with the fp64 reference.
#pragma once

#include <string>
#include <vector>

#include "tests/numeric/cases.h"

namespace fa::test {

/// Two heads that share their keys, 150 queries, 170 keys: a few tiles each way.
tools::Case tiny(const std::string& spec, const std::string& target, DType dtype, int head_dim);

/// Runs each as its target's kernel, in one or the other order of threads, and checks what comes out. Skips without a
/// compiler.
void check_emulated(const std::vector<tools::Case>& cases);

/// Empty where the source computes the problem in both orders of threads.
std::string failure_in_any_order(const Spec& spec, const Source& source, const tools::Problem& problem);

/// The source with the first `from`, which that header has, written as `to`.
Source replaced(Source source, const std::string& header, const std::string& from, const std::string& to);

}  // namespace fa::test
