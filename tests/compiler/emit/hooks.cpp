// The printed hooks: golden text of every spec, and the text compiled as host C++, compared bit by bit with
// the IR that it was printed from. (tests/numeric tests that NVRTC accepts it, without spills.)
#include "compiler/emit/cuda/hooks.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/emit/cuda/exact.h"
#include "compiler/emit/cuda/expr.h"
#include "compiler/spec/spec.h"
#include "templates/params.h"
#include "tests/compiler/ir/random_hooks.h"
#include "tests/effort.h"
#include "tests/golden.h"
#include "tests/skip.h"

namespace {

using namespace fa;
using namespace fa::test;

// What CUDA provides, for a host compiler. f32 hooks use no `fast_` function, so their inline PTX is never
// compiled.
constexpr const char* kPrelude = R"(#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#define __device__
#define __forceinline__ inline
using std::max;
using std::min;
template <class T> T __ldg(const T* address) { return *address; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float __uint_as_float(unsigned bits) { float x; std::memcpy(&x, &bits, 4); return x; }
inline float __int_as_float(unsigned bits) { return __uint_as_float(bits); }
inline int __float_as_int(float x) { int bits; std::memcpy(&bits, &x, 4); return bits; }
struct uint4 { unsigned x, y, z, w; };
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __float2int_rz(float x) {
  if (x != x) return 0;
  return x >= 2147483648.0f ? 2147483647 : x < -2147483648.0f ? -2147483647 - 1 : int(x);
}
#define f16_to_float f16_to_float_on_device
)"
                                 "#include \"common/score/hooks.cuh\"\n"  // of the text, not of this file
                                 R"(
#undef f16_to_float
namespace fa {
inline float f16_to_float(unsigned short bits) { _Float16 x; std::memcpy(&x, &bits, 2); return float(x); }
}
)";

constexpr const char* kEntry = R"(
extern "C" void hooks_{0}(const fa::CallParams& p, int b, int h, int q, int kv, float s, float* parts, int* keep) {{
  using Hooks = fa::s{0}::Hooks;
  const auto head = Hooks::head(p, b, h);
  const auto row = Hooks::row(p, head, q, float(q));
  const auto column = Hooks::column(p, head, kv, float(kv));
  parts[0] = {1};
  parts[1] = {2};
  parts[2] = {3};
  keep[0] = Hooks::mask(p, head, row, column);
  keep[1] = Hooks::kHasMask;
}}
)";

struct Unit {
  std::string name;
  tools::Problem problem;
  std::unique_ptr<HookEval> eval;
};

std::string unit_text(const Spec& spec, std::size_t number) {
  const HookIr hooks = lower(spec.checked());
  const Facts facts = analyse(spec.checked(), hooks);
  const bool is_general = facts.score_form == ScoreForm::general;
  return fmt::format("namespace fa {{ namespace s{} {{\n{}{}}} }}\n", number,
                     print_exact_functions({hooks.module, facts.logits.module}, DType::f32),
                     print_hooks(spec.checked(), hooks, facts).text) +
         fmt::format(
             kEntry, number,
             is_general ? "Hooks::logit(s, p, head, row, column)" : "Hooks::multiplier(p, head, row, column)",
             is_general ? "0.0f" : "Hooks::addend(p, head, row, column)",
             facts.has_row_addend ? "Hooks::row_addend(p, head, q)" : "0.0f");
}

CallParams launch_arguments(const tools::Problem& problem) {
  CallParams params{};
  const ProblemSize& size = problem.size;
  params.batch = size.batch;
  params.num_q_heads = size.num_q_heads;
  params.num_kv_heads = size.num_kv_heads;
  params.group_size = size.num_q_heads / size.num_kv_heads;
  params.q_len = size.q_len;
  params.kv_len = size.kv_len;
  params.scale = static_cast<float>(problem.spec.checked().scale);
  params.scale_log2 = params.scale * 1.44269504f;
  for (std::size_t i = 0; i < problem.params.size(); ++i) {
    if (const auto* number = std::get_if<float>(&problem.params[i]))
      params.params[i].f32 = *number;
    else
      params.params[i].i32 = std::get<std::int32_t>(problem.params[i]);
  }
  for (std::size_t i = 0; i < problem.tensors.size(); ++i)
    params.tensors[i] = problem.tensors[i].bytes.data();
  return params;
}

/// A shared library of the text, or null with a warning where this machine has no C++ compiler.
void* compile(const std::string& text) {
  namespace fs = std::filesystem;
  const fs::path templates = fs::path(FA_SOURCE_DIR) / "templates";
  if (std::system("c++ --version > /dev/null 2>&1") != 0 ||
      !fs::exists(templates / "common" / "score" / "hooks.cuh")) {
    tests::skip("compiling the hooks' text needs c++ and the templates folder");
    return nullptr;
  }
  std::string folder = (fs::temp_directory_path() / "facet_hooks_XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string source = folder + "/hooks.cpp", library = folder + "/hooks.so";
  std::ofstream(source) << text;
  const std::string command =
      fmt::format("c++ -std=c++17 -O0 -w -ffp-contract=off -fPIC -shared -I '{}' '{}' -o '{}'",
                  templates.string(), source, library);
  REQUIRE(std::system(command.c_str()) == 0);
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  fs::remove_all(folder);
  REQUIRE(handle != nullptr);
  return handle;
}

// Equal to the bit, but for the sign of zero: gcc 12 itself folds 0.0f - fabsf(x) to -fabsf(x).
bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void compare(std::vector<Unit>& units, void* library) {
  using Entry = void (*)(const CallParams&, int, int, int, int, float, float*, int*);
  for (std::size_t k = 0; k < units.size(); ++k) {
    Unit& unit = units[k];
    const auto entry = reinterpret_cast<Entry>(dlsym(library, fmt::format("hooks_{}", k).c_str()));
    REQUIRE(entry != nullptr);
    const CallParams params = launch_arguments(unit.problem);
    RandomHooks random(static_cast<std::uint32_t>(k));
    for (int i = 0; i < 60; ++i) {
      const Element element = random.element(unit.problem.size);
      const float s = static_cast<float>(random.below(6400)) / 100.0f - 32.0f;
      float parts[3];
      int keep[2];
      entry(params, element.b, element.h, element.q, element.kv, s, parts, keep);
      const auto want = unit.eval->logit_parts(s, element);
      INFO(unit.name << " b " << element.b << " h " << element.h << " q " << element.q << " kv " << element.kv
                     << " s " << s << " text " << parts[0] << ", " << parts[1] << " ir " << want[0] << ", "
                     << want[1]);
      REQUIRE((keep[0] & 1) == (unit.eval->mask(element) ? 1 : 0));
      REQUIRE(same(parts[0], want[0]));
      REQUIRE(same(parts[1], want[1]));
      REQUIRE(same(parts[2], want[2]));
    }
  }
}

}  // namespace

TEST_CASE("the printed hooks compute what the IR says") {
  const ProblemSize size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 19, .kv_len = 37};
  std::vector<Unit> units;
  std::string text = kPrelude;
  const auto add = [&](const std::string& name, const Spec& given) {
    const Spec spec = given.with_dtype(DType::f32);
    text += unit_text(spec, units.size());
    units.push_back({name, small_problem(spec, 3, size), nullptr});
  };
  for (const std::string& name : all_specs()) add(name, Spec::load(spec_path(name)));
  for (std::uint32_t seed = 1; seed <= static_cast<std::uint32_t>(fa::tests::made_up(80)); ++seed) {
    const std::string random = RandomHooks(seed).spec(true);
    add(random, Spec::parse(random));
  }
  for (Unit& unit : units) unit.eval = std::make_unique<HookEval>(unit.problem, HookEval::Fuse::forbidden);
  if (void* library = compile(text)) {
    compare(units, library);
    dlclose(library);
  }
}

TEST_CASE("golden hooks of every spec") {
  for (const std::string& name : all_specs()) {
    const Spec spec = Spec::load(spec_path(name));
    const HookIr hooks = lower(spec.checked());
    const Facts facts = analyse(spec.checked(), hooks);
    check_golden(name + "/hooks.cuh", print_hooks(spec.checked(), hooks, facts).text);
  }
}

TEST_CASE("approximate functions stand only in score_mod on 16-bit data") {
  const auto print = [](const std::string& items) {
    const Spec spec = Spec::parse("attention t\nhead_dim 64\n" + items);
    const HookIr hooks = lower(spec.checked());
    const Facts facts = analyse(spec.checked(), hooks);
    return print_hooks(spec.checked(), hooks, facts).text;
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(print("dtype bf16\nscore_mod = tanh(score)\n"), "fast_tanh("));
  CHECK(has(print("dtype f32\nscore_mod = tanh(score)\n"), "tanhf("));
  const std::string mask = print("dtype bf16\nmask_mod = tanh(f32(kv_idx)) * f32(q_idx) + 1.0 < 2.0\n");
  CHECK(has(mask, "tanhf("));
  const std::string bucket = print("dtype bf16\nscore_mod = score + i32(log(f32(kv_idx + 1)) / 0.3)\n");
  CHECK(has(bucket, "__float2int_rz(exact_log("));
  CHECK(has(bucket, " / 0.3f"));
  CHECK_FALSE(has(bucket, "fast_"));
  CHECK(has(mask, "__fmul_rn("));  // and nothing fuses
  CHECK_FALSE(has(mask, "fast_"));
}

TEST_CASE("each value is computed in the stage that it depends on") {
  const Spec spec = Spec::parse(
      "attention t\nhead_dim 64\ntensor rows : f32[q_len]\ntensor columns : f32[kv_len]\n"
      "score_mod = score + sqrt(rows[q_idx]) * exp(columns[kv_idx])\n");
  const HookIr hooks = lower(spec.checked());
  const Facts facts = analyse(spec.checked(), hooks);
  const std::string text = print_hooks(spec.checked(), hooks, facts).text;
  const auto body = [&](const std::string& signature) {
    const std::size_t start = text.find(signature);
    REQUIRE(start != std::string::npos);
    return text.substr(start, text.find("\n  }\n", start) - start);
  };
  CHECK(body("Row row(").find("__ldg") != std::string::npos);
  CHECK(body("Column column(").find("fast_exp") != std::string::npos);
  CHECK(body("float addend(").find("__ldg") == std::string::npos);
  CHECK(body("float addend(").find("fast_exp") == std::string::npos);
}

TEST_CASE("a mask that keeps everything is no mask; one that keeps nothing is") {
  const auto print = [](const std::string& mask) {
    const Spec spec = Spec::parse("attention t\nhead_dim 64\nmask_mod = " + mask + "\n");
    const HookIr hooks = lower(spec.checked());
    const Facts facts = analyse(spec.checked(), hooks);
    return print_hooks(spec.checked(), hooks, facts).text;
  };
  CHECK(print("kv_idx < kv_len").find("kHasMask") == std::string::npos);
  CHECK(print("kv_idx >= kv_len").find("kHasMask = true") != std::string::npos);
  CHECK(print("kv_idx >= kv_len").find("return false;") != std::string::npos);
}

TEST_CASE("names are legal C++ and unique, whatever a tensor is called") {
  std::unordered_set<std::string> taken;
  CHECK(unique_name("slopes", taken) == "slopes");
  CHECK(unique_name("slopes", taken) == "slopes_2");
  CHECK(unique_name("register", taken) == "register_value");
  CHECK(unique_name("p.window", taken) == "p_window");
  CHECK(unique_name("fast_exp2", taken) == "fast_exp2_value");
  CHECK(unique_name("", taken) == "v");
  CHECK(unique_name("2d", taken) == "v2d");
}

TEST_CASE("a whole function prints with its arguments by name") {
  const Spec spec = Spec::parse(
      "attention t\nhead_dim 64\nparam window : i32 = 4\n"
      "mask_mod = q_idx >= kv_idx and q_idx - kv_idx < window\n");
  const HookIr hooks = lower(spec.checked());
  CHECK(print_function(*hooks.mask_mod, "mask", {}) ==
        "__device__ __forceinline__ bool mask(float score, int b, int h, int q_idx, int kv_idx, int batch, "
        "int num_q_heads, int num_kv_heads, int group_size, int q_len, int kv_len, float scale, int "
        "p_window) {\n"
        "  return q_idx >= kv_idx && -min(max(p_window, -33554431), 33554431) + q_idx < kv_idx;\n"
        "}\n");
}
