// One attention problem for tests of the host back end: seeded tensors, and a plain double-precision
// reference whose score and mask are C++ functions written in the test, not anything the compiler made.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/schedule/plan.h"
#include "fa/spec.h"
#include "runtime/host/baseline.h"
#include "runtime/host/jit.h"
#include "runtime/host/run.h"
#include "templates/params.h"

namespace fa::test {

/// How [batch, heads, length, dim] lies in memory.
enum class Layout { bhsd, bshd, padded };  // padded: bhsd with gaps between rows, heads and batches

struct HostProblem {
  int batch = 1, q_heads = 1, kv_heads = 1, q_len = 1, kv_len = 1;
  Layout layout = Layout::bhsd;
  std::vector<ParamValue> params = {};
  std::vector<const void*> tensors = {};
  double dropout = 0;
  std::uint64_t seed = 0;
  int threads = 2;
  float spread = 1;  // of q and k
};

/// What the spec computes, as functions of the test; empty: the score itself, everything kept.
struct Meaning {
  std::function<double(double score, int b, int h, int q, int kv)> score = {};
  std::function<bool(int b, int h, int q, int kv)> mask = {};
};

/// Hooks of a spec, and what they mean.
struct MeantItems {
  const char* items;
  Meaning meaning;
};
/// A window under a soft cap, rows without keys under a linear addend, and few keys of few rows.
const std::vector<MeantItems>& items_that_keep_little();

struct HostResult {
  std::vector<double> o;    // [batch, q_heads, q_len, head_dim_v]
  std::vector<double> lse;  // [batch, q_heads, q_len]
};

/// The spec after all stages of the host back end: checked, lowered, analysed, built.
struct HostCase {
  CheckedSpec spec;
  std::shared_ptr<const HostKernel> kernel;
  std::shared_ptr<const HostBaselineKernel> baseline = nullptr;  // where there is one, it runs
};
HostCase host_case(const std::string& text, int tile_q = 96, int tile_kv = 64);
/// The same for a spec changed by hand (a head_dim the language does not allow yet).
HostCase host_case(const CheckedSpec& spec, int tile_q = 96, int tile_kv = 64);
Plan host_plan(int tile_q, int tile_kv);
/// A spec's kernel before code generation.
HostIr host_code(const CheckedSpec& spec, int tile_q, int tile_kv, const HostCpu& cpu = host_cpu());
/// The same of a baseline.
HostIr baseline_code(const CheckedSpec& spec, LoopOrder order, int tile_q, int tile_kv,
                     const HostCpu& cpu = host_cpu());

struct Compared {
  HostResult host, reference;
  bool gaps_untouched = true;  // nothing was written between o's rows, nor beside a baseline's workspace
};
/// Runs the kernel on seeded tensors and the reference on the same numbers, or takes the one that is known from a call whose
/// kernel, layout and threads alone were others.
Compared compare(const HostCase& host, const HostProblem& problem, const Meaning& meaning = {},
                 const HostResult* known_reference = nullptr);

/// The largest |host - reference| / (1 + |reference|) over o and lse; infinity where one is NaN or infinite
/// alone.
double worst_error(const Compared& compared);
/// The largest `worst_error` that is allowed: the rounding of the output, and that of the probabilities, which dropout's factor
/// multiplies with them (A in docs/numerics.md).
double error_bound(const CheckedSpec& spec, double dropout = 0);

/// Numbers of a dtype from and to double, rounded to nearest even.
std::vector<std::uint8_t> encode(const std::vector<double>& values, DType dtype);
std::vector<double> decode(const std::vector<std::uint8_t>& bytes, DType dtype);

}  // namespace fa::test
