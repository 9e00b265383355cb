// Random specs: typed from the top down, so that the checker takes every one.
#include "tests/compiler/spec/random_spec.h"

#include <array>
#include <memory>

#include "compiler/spec/print.h"

namespace fa::test {
namespace {

AstPtr node(AstExpr e) { return std::make_shared<const AstExpr>(std::move(e)); }

template <typename List>
const auto& pick(RandomSpec& random, const List& list) {
  return list[static_cast<std::size_t>(random.below(static_cast<int>(list.size())))];
}

}  // namespace

AstPtr RandomSpec::name(std::string text) { return node({.kind = AstKind::name, .name = std::move(text)}); }

AstPtr RandomSpec::unary(Op op, AstPtr a) {
  return node({.kind = AstKind::unary, .op = op, .args = {std::move(a)}});
}

AstPtr RandomSpec::binary(Op op, AstPtr a, AstPtr b) {
  return node({.kind = AstKind::binary, .op = op, .args = {std::move(a), std::move(b)}});
}

AstPtr RandomSpec::call(std::string name, std::vector<AstPtr> args) {
  return node({.kind = AstKind::call, .name = std::move(name), .args = std::move(args)});
}

AstPtr RandomSpec::number(Type type) {
  if (type == Type::boolean)
    return node({.kind = AstKind::boolean, .int_value = static_cast<std::uint64_t>(below(2))});
  if (type == Type::i32) {
    const std::array<std::uint64_t, 6> values = {0,     1,          128,
                                                 65535, 2147483647, static_cast<std::uint64_t>(below(1000))};
    return node({.kind = AstKind::integer, .int_value = pick(*this, values)});
  }
  const std::array<double, 8> values = {0.0, 1.0, 0.1, 1e30, 1e-30, 12345678.0, 3.4e38, below(1000) / 7.0};
  return node({.kind = AstKind::floating, .float_value = pick(*this, values)});
}

AstPtr RandomSpec::leaf(Type type) {
  std::vector<std::string> fitting;
  for (const auto& [text, of] : names_) {
    if (of == type) fitting.push_back(text);
  }
  if (type == Type::f32 && score_) fitting.insert(fitting.end(), 3, "score");
  if (type == Type::i32) {
    for (const char* text : {"b", "h", "q_idx", "kv_idx", "q_len", "kv_len", "group_size", "head_dim"})
      fitting.emplace_back(text);
  }
  return fitting.empty() || below(3) == 0 ? number(type) : name(pick(*this, fitting));
}

AstPtr RandomSpec::read(const Tensor& tensor, int depth) {
  AstExpr e{.kind = AstKind::index, .name = tensor.name};
  for (int i = 0; i < tensor.rank; ++i) e.args.push_back(expr(Type::i32, depth));
  return node(std::move(e));
}

AstPtr RandomSpec::reduction(Reduction over, Type body, int depth) {
  constexpr int kCount = 6;
  AstExpr e{.kind = AstKind::reduce, .reduction = over, .name = "loop" + std::to_string(loops_++)};
  steps_ *= kCount;
  names_.emplace_back(e.name, Type::i32);
  e.args = {binary(Op::add, node({.int_value = 2}), node({.int_value = 4})), expr(body, depth)};
  std::erase_if(names_, [&](const auto& known) { return known.first == e.name; });
  steps_ /= kCount;
  return node(std::move(e));
}

AstPtr RandomSpec::expr(Type type, int depth) {
  if (depth <= 0) return leaf(type);
  if (below(8) == 0) return leaf(type);
  if (below(8) == 0) {
    std::vector<Tensor> fitting;
    for (const Tensor& tensor : tensors_) {
      if (tensor.type == type) fitting.push_back(tensor);
    }
    if (!fitting.empty()) return read(pick(*this, fitting), depth - 1);
  }
  if (below(10) == 0)
    return call("where", {expr(Type::boolean, depth - 1), expr(type, depth - 1), expr(type, depth - 1)});
  return type == Type::boolean ? boolean_expr(depth - 1)
         : type == Type::i32   ? integer_expr(depth - 1)
                               : float_expr(depth - 1);
}

AstPtr RandomSpec::boolean_expr(int depth) {
  const bool may_reduce = steps_ < 1000;
  switch (below(may_reduce ? 6 : 5)) {
    case 0:
      return unary(Op::logical_not, expr(Type::boolean, depth));
    case 1:
      return binary(below(2) == 0 ? Op::logical_and : Op::logical_or, expr(Type::boolean, depth),
                    expr(Type::boolean, depth));
    case 2:
      return binary(below(2) == 0 ? Op::eq : Op::ne, expr(Type::boolean, depth), expr(Type::boolean, depth));
    case 5:
      return reduction(below(2) == 0 ? Reduction::any : Reduction::all, Type::boolean, depth);
    default: {
      const std::array<Op, 6> ops = {Op::lt, Op::le, Op::gt, Op::ge, Op::eq, Op::ne};
      const Type type = below(2) == 0 ? Type::i32 : Type::f32;
      return binary(pick(*this, ops), expr(type, depth), expr(below(2) == 0 ? Type::i32 : type, depth));
    }
  }
}

AstPtr RandomSpec::integer_expr(int depth) {
  const auto any = [&] { return expr(Type::i32, depth); };
  const bool may_reduce = steps_ < 1000;
  switch (below(may_reduce ? 7 : 6)) {
    case 0:
      return unary(below(2) == 0 ? Op::neg : Op::bit_not, any());
    case 1:
      return call(below(2) == 0 ? "min" : "max", {any(), any(), any()});
    case 2:
      return call("i32", {expr(Type::f32, depth)});
    case 3:
      return below(2) == 0 ? call("clamp", {any(), any(), any()}) : call("ceil_div", {any(), any()});
    case 6:
      return reduction(below(2) == 0 ? Reduction::sum : Reduction::min, Type::i32, depth);
    default: {
      const std::array<Op, 10> ops = {Op::add, Op::sub, Op::mul,     Op::div,    Op::mod,
                                      Op::shl, Op::shr, Op::bit_and, Op::bit_or, Op::bit_xor};
      return binary(pick(*this, ops), any(), any());
    }
  }
}

AstPtr RandomSpec::float_expr(int depth) {
  const auto any = [&] { return expr(Type::f32, depth); };
  const bool may_reduce = steps_ < 1000;
  switch (below(may_reduce ? 6 : 5)) {
    case 0:
      return unary(Op::neg, any());
    case 1:
      return call(below(2) == 0 ? "max" : "min", {any(), expr(Type::i32, depth)});
    case 2: {
      const std::array<const char*, 13> functions = {"abs",  "floor", "exp",     "exp2", "log",
                                                     "log2", "tanh",  "sigmoid", "sqrt", "rsqrt",
                                                     "erf",  "sin",   "cos"};
      return call(pick(*this, functions), {any()});
    }
    case 5:
      return reduction(below(2) == 0 ? Reduction::sum : Reduction::max, Type::f32, depth);
    default: {
      const std::array<Op, 4> ops = {Op::add, Op::sub, Op::mul, Op::div};
      return binary(pick(*this, ops), any(), below(3) == 0 ? expr(Type::i32, depth) : any());
    }
  }
}

Ast RandomSpec::spec() {
  Ast ast;
  const auto add = [&](AstItem item) { ast.items.push_back(std::move(item)); };
  const auto integer = [&](int value) { return node({.int_value = static_cast<std::uint64_t>(value)}); };
  add({.kind = ItemKind::attention, .name = "random" + std::to_string(below(100))});
  add({.kind = ItemKind::head_dim, .value = integer(8 * (1 + below(32)))});
  if (below(2) == 0) add({.kind = ItemKind::head_dim_v, .value = integer(8 * (1 + below(32)))});
  const std::array<const char*, 3> dtypes = {"f16", "bf16", "f32"};
  add({.kind = ItemKind::dtype, .type = pick(*this, dtypes)});
  if (below(2) == 0) {
    add({.kind = ItemKind::scale,
         .value = binary(Op::div, node({.kind = AstKind::floating, .float_value = 1.5}), name("head_dim"))});
  }
  for (int i = below(3); i > 0; --i) {
    const bool is_float = below(2) == 0;
    const std::string text = "p" + std::to_string(i);
    AstPtr value = number(is_float ? Type::f32 : Type::i32);
    if (below(2) == 0) value = unary(Op::neg, value);
    add({.kind = ItemKind::param, .name = text, .type = is_float ? "f32" : "i32", .value = value});
    names_.emplace_back(text, is_float ? Type::f32 : Type::i32);
  }
  for (int i = below(4); i > 0; --i) {
    const std::array<const char*, 6> types = {"f16", "bf16", "f32", "i32", "i8", "bool"};
    const int type = below(6);
    Tensor tensor{.name = "t" + std::to_string(i),
                  .type = type < 3   ? Type::f32
                          : type < 5 ? Type::i32
                                     : Type::boolean,
                  .rank = 1 + below(4)};
    AstItem item{
        .kind = ItemKind::tensor, .name = tensor.name, .type = types[static_cast<std::size_t>(type)]};
    for (int d = 0; d < tensor.rank; ++d) {
      item.extents.push_back(below(2) == 0 ? name("num_q_heads")
                                           : call("ceil_div", {name("kv_len"), integer(64)}));
    }
    if (below(2) == 0 && tensor.type == Type::i32) item.value = binary(Op::mod, name("i0"), integer(7));
    add(std::move(item));
    tensors_.push_back(std::move(tensor));
  }
  const std::array<Type, 3> kinds = {Type::boolean, Type::i32, Type::f32};
  for (int i = below(4); i > 0; --i) {
    const Type type = pick(*this, kinds);
    const std::string text = "x" + std::to_string(lets_++);
    add({.kind = ItemKind::let, .name = text, .value = expr(type, 3)});
    names_.emplace_back(text, type);
  }
  score_ = true;
  if (below(4) != 0) add({.kind = ItemKind::score_mod, .value = expr(Type::f32, 5)});
  score_ = false;
  if (below(4) != 0) add({.kind = ItemKind::mask_mod, .value = expr(Type::boolean, 5)});
  if (below(3) == 0)
    add({.kind = ItemKind::dropout, .value = node({.kind = AstKind::floating, .float_value = 0.25})});
  return ast;
}

std::string RandomSpec::blank() {
  const std::array<const char*, 6> blanks = {"", " ", "\t", "\n  ", " # note ) ]\n", "\r\n"};
  return pick(*this, blanks);
}

// Everything inside brackets, where line ends mean nothing.
std::string RandomSpec::noisy(const AstExpr& e) {
  std::string text;
  const auto list = [&](std::size_t from) {
    for (std::size_t i = from; i < e.args.size(); ++i)
      text += (i > from ? "," : "") + blank() + noisy(*e.args[i]);
  };
  switch (e.kind) {
    case AstKind::unary:
      text = std::string(op_text(e.op)) + " " + blank() + noisy(*e.args[0]);
      break;
    case AstKind::binary:
      text =
          noisy(*e.args[0]) + blank() + " " + std::string(op_text(e.op)) + " " + blank() + noisy(*e.args[1]);
      break;
    case AstKind::call:
      text = e.name + "(";
      list(0);
      text += ")";
      break;
    case AstKind::index:
      text = e.name + "[";
      list(0);
      text += "]";
      break;
    case AstKind::reduce:
      text = std::string(reduction_name(e.reduction)) + "(" + blank() + e.name + " < " + noisy(*e.args[0]) +
             ":" + blank() + noisy(*e.args[1]) + ")";
      break;
    default:
      text = print_expr(e);
  }
  return brackets(text);
}

std::string RandomSpec::noisy(const Ast& ast) {
  std::string text;
  for (const AstItem& item : ast.items) {
    AstItem head = item;
    head.value = nullptr;
    text += print_item(head);
    const bool plain = item.kind <= ItemKind::scale || item.kind == ItemKind::dropout;
    if (item.value) text += (plain ? " " : " = ") + noisy(*item.value);
    text += below(2) == 0 ? "  # end\n" : "\r\n\n";
  }
  return text;
}

std::string word_soup(std::mt19937& random) {
  static const std::vector<std::string> kWords = {
      "attention", "head_dim", "head_dim_v", "dtype", "scale", "param", "tensor", "let",   "score_mod",
      "mask_mod",  "dropout",  "bf16",       "f32",   "i32",   "bool",  "score",  "q_idx", "kv_idx",
      "b",         "h",        "i0",         "where", "min",   "max",   "any",    "sum",   "exp",
      "clamp",     "true",     "inf",        "and",   "or",    "not",   "x",      "y",     "0",
      "1",         "128",      "2.5",        "1e39",  "017",   "(",     ")",      "[",     "]",
      ",",         ":",        "=",          "==",    "<",     "<=",    "<<",     "+",     "-",
      "*",         "/",        "%",          "&",     "|",     "^",     "~",      "**",    "&&",
      "!",         "?",        ";",          "\n",    "\n",    "\n",    "#",      "'",     "\xc3\xa9",
      "\x01"};
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  std::string text = below(2) == 0 ? "attention a\n" : "";
  for (std::size_t i = below(60); i > 0; --i)
    text += kWords[below(kWords.size())] + (below(4) == 0 ? "" : " ");
  return text;
}

std::string mutated(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (std::size_t i = 1 + below(6); i > 0 && !text.empty(); --i) {
    const std::size_t at = below(text.size());
    switch (below(4)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, 1 + below(8));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), 1 + below(12)));
        break;
      default:
        text.insert(at, 1, "()[]=,:<+-#\n "[below(13)]);
    }
  }
  return text;
}

}  // namespace fa::test
