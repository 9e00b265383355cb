#include "compiler/program/bucket.h"

#include <fmt/format.h>

namespace fa {
namespace {

std::string print(const SizeRange& range) {
  const bool has_end = range.most != SizeRange::kMost;
  if (range.least <= 0) return fmt::format("up to {}", range.most);
  if (!has_end) return fmt::format("from {}", range.least);
  if (range.least == range.most) return fmt::format("{}", range.least);
  return fmt::format("{} to {}", range.least, range.most);
}

}  // namespace

std::string Bucket::print() const {
  std::string text;
  const auto add = [&](const SizeRange& range, const char* before, const char* after) {
    if (range == SizeRange{}) return;
    if (!text.empty()) text += ", ";
    text += before + fa::print(range) + after;
  };
  add(ctas, "", " CTAs of work");
  add(kv_len, "kv_len ", "");
  add(group_size, "group size ", "");
  return text.empty() ? "every call" : text;
}

std::string describe_bucket(const Bucket& bucket, std::size_t count) {
  return count > 1 && bucket == Bucket{} ? "all other calls" : bucket.print();
}

}  // namespace fa
