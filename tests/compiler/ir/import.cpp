// Hooks from LLVM IR: bad files, with the exact first line of each one's message; and files of clang and
// rustc, compared with an interpreter of the file and with the same hook in the language.
#include "compiler/ir/import/import.h"

#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/reading.h"
// after llvm.h
#include <fmt/format.h>

#include <filesystem>

#include "compiler/ir/import/parts.h"
#include "compiler/spec/print.h"
#include "runtime/store/memory_cache.h"
#include "tests/compiler/ir/random_hooks.h"
#include "tests/effort.h"
#include "tests/golden.h"
#include "tests/import/head.h"
#include "tests/runtime/system/temporary.h"

namespace {

using namespace fa;
using namespace fa::test;
using tests::kImportHead;
using tests::read_file;
using tests::TemporaryFolder;
using tests::write_file;

const std::filesystem::path kFolder = std::filesystem::path(FA_SOURCE_DIR) / "tests" / "import";

std::vector<std::filesystem::path> files_in(const char* folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder / folder))
    if (entry.path().extension() == ".ll") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// "score_mod", "mask_mod": the hooks that a file defines, or was meant to define.
std::vector<std::string> hooks_in(const std::string& text) {
  std::vector<std::string> hooks;
  for (const char* name : {"score_mod", "mask_mod"})
    if (text.find(fmt::format("@{}(", name)) != std::string::npos) hooks.push_back(name);
  return hooks;
}

Spec imported(const std::string& hook, const std::string& path) {
  return Spec::parse(fmt::format("{}{} from \"{}\"\n", kImportHead, hook, path), "t.fa");
}

/// The finding that lowering reports; fails where there is none.
Diagnostic refusal(const Spec& spec) {
  try {
    lower(spec.checked());
  } catch (const SpecError& error) {
    REQUIRE(error.diagnostics().size() == 1);
    return error.diagnostics()[0];
  }
  FAIL("imported without an error");
  return {};
}

const std::vector<ProblemSize> kSizes = {
    {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 33, .kv_len = 71},
    {.batch = 1, .num_q_heads = 2, .num_kv_heads = 1, .q_len = 50, .kv_len = 50},
    {.batch = 3, .num_q_heads = 3, .num_kv_heads = 3, .q_len = 1, .kv_len = 1},
    {.batch = 1, .num_q_heads = 5, .num_kv_heads = 5, .q_len = 40, .kv_len = 9}};

template <class Left, class Right>
void agree(const Left& left, Right& right, const ProblemSize& size, int elements) {
  RandomHooks random(7);
  for (int i = 0; i < elements; ++i) {
    const Element element = random.element(size);
    const float score = static_cast<float>(random.below(800)) / 100.0f - 4.0f;
    INFO("q_len " << size.q_len << " kv_len " << size.kv_len << " b " << element.b << " h " << element.h
                  << " q " << element.q << " kv " << element.kv << " score " << score);
    REQUIRE(left.mask(element) == right.mask(element));
    const double want = right.score_mod(static_cast<double>(score), element);
    const double got = static_cast<double>(left.score_mod(score, element));
    REQUIRE(std::abs(got - want) <= 1e-4 * (1 + std::abs(want)));
  }
}

}  // namespace

TEST_CASE("every bad file draws exactly the finding it names", "[import][error]") {
  const auto files = files_in("bad");
  CHECK(files.size() >= 45);
  for (const std::filesystem::path& path : files) {
    INFO(path.filename().string());
    const std::string text = read_file(path.string());
    const std::string prefix = "; expect: ";
    REQUIRE(text.starts_with(prefix));
    const std::string want = text.substr(prefix.size(), text.find('\n') - prefix.size());
    const auto hooks = hooks_in(text);
    const std::string hook = hooks.empty() ? "mask_mod" : hooks[0];
    const Diagnostic found = refusal(imported(hook, path.string()));
    const std::string rendered = found.render();
    CHECK(rendered.substr(0, rendered.find('\n')) ==
          fmt::format("t.fa:15:{}: error: '{}': {}", hook.size() + 7, path.string(), want));
    CHECK(!found.remedy.empty());
    CHECK(found.source_line == fmt::format("{} from \"{}\"", hook, path.string()));
  }
}

TEST_CASE("files of clang and rustc mean what they say", "[import]") {
  int hooks = 0;
  for (const std::filesystem::path& path : files_in("good"))
    for (const std::string& hook : hooks_in(read_file(path.string()))) {
      ++hooks;
      INFO(path.filename().string() << " " << hook);
      for (const ProblemSize& size : kSizes) {
        const tools::Problem problem = small_problem(imported(hook, path.string()), 3, size);
        const HookEval eval(problem, HookEval::Fuse::forbidden);
        ReferenceEval reference(problem);
        agree(eval, reference, size, fa::tests::made_up(300));
      }
    }
  CHECK(hooks >= 20);
}

TEST_CASE("an imported hook is the same hook in the language", "[import]") {
  struct Case {
    const char* file;
    const char* hook;
    const char* same;
  };
  const Case cases[] = {
      {"document.ll", "mask_mod",
       "let pos = q_idx + (kv_len - q_len)\n"
       "mask_mod = pos >= kv_idx and pos - kv_idx < window and doc[b, max(pos, 0)] == doc[b, kv_idx]\n"},
      {"document.O0.ll", "mask_mod",
       "let pos = q_idx + (kv_len - q_len)\n"
       "mask_mod = pos >= kv_idx and pos - kv_idx < window and doc[b, max(pos, 0)] == doc[b, kv_idx]\n"},
      {"modern.ll", "mask_mod",
       "let d = q_idx + (kv_len - q_len) - kv_idx\n"
       "mask_mod = d >= 0 and d < window or q_idx / 16 == kv_idx / 16\n"},
      {"modern.ll", "score_mod", "score_mod = score - slopes[h] * f32(q_idx + (kv_len - q_len) - kv_idx)\n"},
      {"tables.ll", "score_mod",
       "let w = where((h & 3) == 0, 0.5, where((h & 3) == 1, 2.0, where((h & 3) == 3, -1.25, 0.0)))\n"
       "let v = where((b & 3) == 0, 0.5, where((b & 3) == 1, 2.0, where((b & 3) == 3, -1.25, 0.0)))\n"
       "score_mod = score * w + v\n"},
      {"tensors.ll", "score_mod",
       "score_mod = score + bias[h, q_idx, kv_idx] + relative[h, clamp(kv_idx - q_idx, -window, window) + "
       "window] + "
       "halves[h, kv_idx & 15]\n"},
      {"iterators.ll", "mask_mod",
       "let group = where(h % 3 == 0, doc[b, kv_idx], where(h % 3 == 1, 7, (kv_idx - q_idx) % 5))\n"
       "mask_mod = any(i < 4: max(q_idx - i * 3, 0) == kv_idx) or group == 2 or flags[0, kv_idx]\n"}};
  for (const Case& c : cases)
    for (const ProblemSize& size : kSizes) {
      INFO(c.file);
      const tools::Problem problem =
          small_problem(imported(c.hook, (kFolder / "good" / c.file).string()), 3, size);
      const tools::Problem same = small_problem(Spec::parse(kImportHead + std::string(c.same)), 3, size);
      const HookEval eval(problem, HookEval::Fuse::forbidden);
      ReferenceEval reference(same);
      agree(eval, reference, size, fa::tests::made_up(300));
    }
}

TEST_CASE("flat indices become the tensor's own, proved where the language's would be", "[import]") {
  const Spec document = imported("mask_mod", (kFolder / "good" / "document.ll").string());
  CHECK(lower(document.checked()).clamped.empty());
  const Spec tensors = imported("score_mod", (kFolder / "good" / "tensors.ll").string());
  std::vector<std::string> clamped;
  for (const ClampedRead& read : lower(tensors.checked()).clamped) clamped.push_back(read.tensor);
  CHECK(clamped == std::vector<std::string>{"relative", "relative"});  // its extent has a param in it
}

TEST_CASE("the machine a file was made for does not matter", "[import]") {
  const std::string text = read_file((kFolder / "good" / "document.ll").string());
  const std::string want =
      lower(imported("mask_mod", (kFolder / "good" / "document.ll").string()).checked()).print();
  const TemporaryFolder folder;
  const std::pair<const char*, const char*> machines[] = {
      {"e-i64:64-i128:128-v16:16-v32:32-n16:32:64", "nvptx64-nvidia-cuda"},
      {"e-m:e-p:32:32-i64:64-n32-S128", "riscv32-unknown-elf"},
      {"E-m:e-i1:8:16-i8:8:16-i64:64-f128:64-v128:64-a:8:16-n32:64", "s390x-ibm-linux"},
      {"e-p:64:64-some-thing-no-reader-knows", "machine-of-tomorrow"}};
  for (const auto& [layout, triple] : machines) {
    std::string other = text;
    const auto replace_line = [&](const std::string& begin, const std::string& line) {
      const std::size_t at = other.find(begin);
      REQUIRE(at != std::string::npos);
      other.replace(at, other.find('\n', at) - at, line);
    };
    replace_line("target datalayout", fmt::format("target datalayout = \"{}\"", layout));
    replace_line("target triple", fmt::format("target triple = \"{}\"", triple));
    write_file(folder / "other.ll", other);
    CHECK(lower(imported("mask_mod", folder / "other.ll").checked()).print() == want);
  }
}

TEST_CASE("bitcode is read like text, and what is no bitcode is refused", "[import]") {
  const TemporaryFolder folder;
  const std::string path = (kFolder / "good" / "document.ll").string();
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(read_file(path), error, context);
  REQUIRE(module != nullptr);
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  llvm::WriteBitcodeToFile(*module, stream);
  write_file(folder / "hook.bc", bytes);
  CHECK(lower(imported("mask_mod", folder / "hook.bc").checked()).print() ==
        lower(imported("mask_mod", path).checked()).print());
  for (const std::size_t kept : {std::size_t{4}, std::size_t{20}, bytes.size() / 2, bytes.size() - 4}) {
    write_file(folder / "cut.bc", bytes.substr(0, kept));
    const Diagnostic found = refusal(imported("mask_mod", folder / "cut.bc"));
    CHECK(found.remedy.find("of a later LLVM, give the text") != std::string::npos);
  }
}

TEST_CASE("text of a later LLVM loses what only that one knows", "[import]") {
  CHECK(without_newer_words("declare void @f(ptr captures(none) %x, ptr captures(address, read_provenance))\n"
                            "  %captures = icmp samesign ult i32 %a, %b ; captures(none)\n"
                            "@\"captures(none)\" = global [15 x i8] c\"captures(none)\\00\"\n"
                            "attributes #0 = { nocreateundeforpoison memory(target_mem0: none) }\n") ==
        "declare void @f(ptr  %x, ptr )\n"
        "  %captures = icmp  ult i32 %a, %b ; captures(none)\n"
        "@\"captures(none)\" = global [15 x i8] c\"captures(none)\\00\"\n"
        "attributes #0 = { nounwind }\n");
}

TEST_CASE("golden stages of the imported specs", "[import]") {
  for (const char* name : {"bigbird", "kerple"}) {
    const Spec spec = Spec::load(spec_path(name));
    check_golden(fmt::format("{}/imported.ll", name), print_normalised(spec.checked(), HookKind::mask_mod));
    check_golden(fmt::format("{}/imported.txt", name), print_ast(import_hooks(spec.checked())));
  }
}

TEST_CASE("a spec holds its file: later changes to it are another spec's", "[import]") {
  const TemporaryFolder folder;
  const std::string text = read_file((kFolder / "good" / "document.ll").string());
  write_file(folder / "hook.ll", text);
  write_file(folder / "t.fa", kImportHead + std::string("mask_mod from \"hook.ll\"\n"));
  const Spec spec = Spec::load(folder / "t.fa");
  const std::string want = lower(spec.checked()).print();
  write_file(folder / "hook.ll", read_file((kFolder / "good" / "modern.ll").string()));
  const Spec later = Spec::load(folder / "t.fa");
  std::filesystem::remove(folder / "hook.ll");
  CHECK(lower(spec.with_head_dim(128).with_head_dim(64).checked()).print() == want);
  CHECK(lower(later.checked()).print() != want);
  CHECK(spec.text() == later.text());
  CHECK(memory_key(spec, Device::host, 0, 1, "", "").hex() !=
        memory_key(later, Device::host, 0, 1, "", "").hex());
  CHECK_THROWS_AS(Spec::load(folder / "t.fa"), SpecError);
}

TEST_CASE("a spec from parts may name a file", "[import]") {
  SpecParts parts;
  parts.head_dim = 64;
  parts.params = {{.name = "window", .default_value = 9}};
  parts.tensors = {{.name = "doc", .dtype = DType::i32, .extents = {"batch", "kv_len"}, .example = ""}};
  parts.mask_mod_from = (kFolder / "good" / "document.ll").string();
  const Spec spec = Spec::build(parts);
  CHECK(spec.text().find("mask_mod from \"" + parts.mask_mod_from + "\"\n") != std::string::npos);
  CHECK(spec.warnings().empty());
  CHECK(lower(spec.checked()).mask_mod != nullptr);
  const auto message = [&] {
    try {
      Spec::build(parts);
    } catch (const SpecError& error) {
      return error.diagnostics().at(0).message;
    }
    return std::string();
  };
  parts.mask_mod = "q_idx >= kv_idx";
  CHECK(message() == "mask_mod and mask_mod_from are both given");
  parts.mask_mod.clear();
  parts.mask_mod_from = "a\"\ndropout 0.5";
  CHECK(message() == "'a\"?dropout 0.5' is not a path in printable ASCII");
}

TEST_CASE("reads outside a tensor are moved inside, and counted by the interpreter of the file", "[import]") {
  const TemporaryFolder folder;
  write_file(folder / "outside.ll",
             "@other = external constant [0 x i32]\n"
             "define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {\n"
             "  %i = add i32 %kv_idx, %q_idx\n  %j = sub i32 %i, 20\n  %w = sext i32 %j to i64\n"
             "  %at = getelementptr i32, ptr @other, i64 %w\n  %x = load i32, ptr %at\n"
             "  %keep = icmp sgt i32 %x, 3\n  ret i1 %keep\n}\n");
  const Spec spec = imported("mask_mod", folder / "outside.ll");
  const tools::Problem problem = small_problem(spec, 3, kSizes[1]);
  const HookEval eval(problem, HookEval::Fuse::forbidden);
  HookEvaluator file(spec.checked(), HookKind::mask_mod,
                     tools::hook_data(tools::problem_environment(problem)));
  std::int64_t outside = 0;
  for (int q = 0; q < 50; ++q)
    for (int kv = 0; kv < 50; ++kv) {
      const int index = q + kv - 20;
      outside += index < 0 || index >= 50;
      CHECK(eval.mask({.q = q, .kv = kv}) == (file.evaluate(0, 0, 0, 0, q, kv) != 0));
    }
  CHECK(file.reads_outside() == outside);
  CHECK(lower(spec.checked()).clamped.size() == 1);
}

TEST_CASE("a hook that branches into too many blocks is refused", "[import][error]") {
  // One switch after the other; together they have the most cases that are accepted.
  const auto choice = [](int cases, const std::string& subject, const std::string& name,
                         const std::string& from) {
    std::string text = fmt::format("  switch i32 {}, label %end{} [\n", subject, name);
    std::string blocks, incoming = fmt::format("[ 0, %{} ]", from);
    for (int i = 0; i < cases; ++i) {
      text += fmt::format("    i32 {0}, label %c{1}{0}\n", i, name);
      blocks += fmt::format(
          "c{1}{0}:\n  %a{1}{0} = getelementptr i32, ptr @doc, i64 {0}\n  %v{1}{0} = load i32, ptr "
          "%a{1}{0}\n  br label %end{1}\n",
          i, name);
      incoming += fmt::format(", [ %v{1}{0}, %c{1}{0} ]", i, name);
    }
    return text + "  ]\n" + blocks + fmt::format("end{0}:\n  %v{0} = phi i32 {1}\n", name, incoming);
  };
  const std::string text =
      "@doc = external constant [0 x i32]\n"
      "define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {\nentry:\n" +
      choice(1000, "%q_idx", "x", "entry") + choice(24, "%vx", "y", "endx") +
      "  %keep = icmp sgt i32 %vy, %kv_idx\n  ret i1 %keep\n}\n";
  const TemporaryFolder folder;
  write_file(folder / "wide.ll", text);
  CHECK(refusal(imported("mask_mod", folder / "wide.ll")).message ==
        fmt::format("'{}': @mask_mod: 1027 blocks of instructions; at most 1024 are taken",
                    folder / "wide.ll"));
}
