#include "runtime/bundle/calls.h"

#include <array>

namespace fa {
namespace {

using nlohmann::json;

struct Bound {
  const char* name;
  SizeRange Bucket::* range;
};
constexpr std::array kBounds{Bound{"ctas", &Bucket::ctas}, Bound{"kv_len", &Bucket::kv_len},
                             Bound{"group_size", &Bucket::group_size}};

SizeRange parse_range(Fields fields) {
  SizeRange range;
  range.least = fields.number("least", 0, SizeRange::kMost);
  if (fields.has("most")) range.most = fields.number("most", range.least, SizeRange::kMost);
  fields.end();
  return range;
}

}  // namespace

json print_calls(const Bucket& bucket) {
  json calls = json::object();
  for (const Bound& bound : kBounds) {
    const SizeRange& range = bucket.*bound.range;
    if (range == SizeRange{}) continue;
    calls[bound.name]["least"] = range.least;
    if (range.most != SizeRange::kMost) calls[bound.name]["most"] = range.most;
  }
  return calls;
}

Bucket parse_calls(Fields fields) {
  Bucket bucket;
  for (const Bound& bound : kBounds)
    if (fields.has(bound.name)) bucket.*bound.range = parse_range(fields.inner(bound.name));
  if (bucket == Bucket{}) fields.fail("", "holds every call, and so leaves none for the kernel's own plan");
  fields.end();
  return bucket;
}

}  // namespace fa
