// The public Spec. Text and parts from a program take the same path to a checked spec.
#include "fa/spec.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "compiler/spec/check/check.h"
#include "compiler/spec/dtype.h"
#include "compiler/spec/parse/parser.h"
#include "compiler/spec/spec.h"
#include "compiler/spec/words.h"

namespace fa {
namespace {

[[noreturn]] void refuse(std::string file, std::string message, std::string remedy = {}) {
  throw SpecError({Diagnostic{
      .place = {.file = std::move(file)}, .message = std::move(message), .remedy = std::move(remedy)}});
}

Spec checked_or_throw(const std::shared_ptr<const Ast>& ast, Findings& findings) {
  std::shared_ptr<const CheckedSpec> spec = check(ast, findings);
  if (spec == nullptr) throw SpecError(findings.errors());
  return Spec(std::move(spec));
}

AstItem& item_of(Ast& ast, ItemKind kind) {
  for (AstItem& item : ast.items) {
    if (item.kind == kind) return item;
  }
  return ast.items.emplace_back(AstItem{.kind = kind});
}

// A number without a place in the text; messages about it name only the file.
AstPtr number(int value) {
  const AstPtr magnitude = std::make_shared<const AstExpr>(
      AstExpr{.kind = AstKind::integer,
              .int_value = static_cast<std::uint64_t>(std::abs(static_cast<std::int64_t>(value)))});
  if (value >= 0) return magnitude;
  return std::make_shared<const AstExpr>(
      AstExpr{.kind = AstKind::unary, .op = Op::neg, .args = {magnitude}, .depth = 2});
}

}  // namespace

bool is_dtype(DType dtype) { return static_cast<std::size_t>(dtype) < 8; }

std::string_view dtype_name(DType dtype) {
  constexpr std::array<std::string_view, 8> kNames = {"f16", "bf16", "f32", "i32", "i8", "bool", "i64", "u8"};
  return is_dtype(dtype) ? kNames[static_cast<std::size_t>(dtype)] : "(no DType)";
}

int dtype_bytes(DType dtype) {
  constexpr std::array<int, 8> kBytes = {2, 2, 4, 4, 1, 1, 8, 1};
  if (!is_dtype(dtype)) throw ArgumentError(no_dtype(dtype));
  return kBytes[static_cast<std::size_t>(dtype)];
}

std::string no_dtype(DType dtype) {
  return fmt::format("{} is no DType: pass DType::f32, or another that fa/spec.h names",
                     static_cast<std::int64_t>(dtype));
}

Diagnostic warning_at(const CheckedSpec& spec, int line, int column, std::string message,
                      std::string remedy) {
  return {.severity = Diagnostic::Severity::warning,
          .place = {.file = spec.file, .line = line, .column = column},
          .message = std::move(message),
          .remedy = std::move(remedy),
          .source_line = spec.ast->source->line(line)};
}

Spec Spec::parse(std::string_view text, std::string file) {
  if (text.size() > kMaxSpecBytes) {
    refuse(std::move(file),
           fmt::format("the spec is {} bytes long; at most {} are read", text.size(), kMaxSpecBytes));
  }
  auto source = std::make_shared<const SourceText>(std::move(file), std::string(text));
  Findings findings(*source);
  Ast ast = parse_spec(source, findings);
  read_hook_files(ast, findings);
  return checked_or_throw(std::make_shared<const Ast>(std::move(ast)), findings);
}

Spec Spec::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxSpecBytes + 1, '\0');
  if (!file || !file.read(text.data(), 1)) {
    // A directory can be opened but not read. Reading an empty file returns nothing and is no error.
    const int reason = errno;
    if (!file.is_open() || file.bad())
      refuse(path, fmt::format("cannot read the file: {}", std::strerror(reason)));
    return parse({}, path);
  }
  file.read(text.data() + 1, static_cast<std::streamsize>(text.size() - 1));
  text.resize(static_cast<std::size_t>(file.gcount()) + 1);
  if (text.size() > kMaxSpecBytes)
    refuse(path, fmt::format("the file is longer than the {} bytes a spec may have", kMaxSpecBytes));
  return parse(text, path);
}

Spec Spec::with_head_dim(int head_dim, int head_dim_v) const {
  Ast ast = *checked_->ast;
  if (head_dim != 0) item_of(ast, ItemKind::head_dim).value = number(head_dim);
  if (head_dim_v != 0) item_of(ast, ItemKind::head_dim_v).value = number(head_dim_v);
  Findings findings(*ast.source);
  return checked_or_throw(std::make_shared<const Ast>(std::move(ast)), findings);
}

Spec Spec::with_dtype(DType dtype) const {
  if (!is_dtype(dtype)) throw ArgumentError("with_dtype: " + no_dtype(dtype));
  Ast ast = *checked_->ast;
  AstItem& item = item_of(ast, ItemKind::dtype);
  item.type = dtype_name(dtype);
  item.type_span = {};
  Findings findings(*ast.source);
  return checked_or_throw(std::make_shared<const Ast>(std::move(ast)), findings);
}

const std::string& Spec::name() const { return checked_->name; }
int Spec::head_dim() const { return checked_->head_dim; }
int Spec::head_dim_v() const { return checked_->head_dim_v; }
DType Spec::dtype() const { return checked_->dtype; }
bool Spec::has_dropout() const { return checked_->has_dropout; }
bool Spec::has_sink() const { return checked_->sink != nullptr; }
const std::vector<ParamInfo>& Spec::params() const { return checked_->params; }
const std::vector<TensorInfo>& Spec::tensors() const { return checked_->tensor_infos; }
const std::vector<Diagnostic>& Spec::warnings() const { return checked_->warnings; }
std::string Spec::text() const { return checked_->text; }

}  // namespace fa
