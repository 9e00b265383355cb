#include "compiler/ir/depends_on.h"

#include <utility>

namespace fa {

std::string DependsOn::print() const {
  static constexpr std::pair<std::uint8_t, const char*> kNames[] = {
      {b, "b"}, {h, "h"}, {q, "q"}, {kv, "kv"}, {score, "score"}};
  std::string text;
  for (const auto& [bit, name] : kNames)
    if (has(bit)) text += (text.empty() ? "" : ", ") + std::string(name);
  return "{" + text + "}";
}

}  // namespace fa
